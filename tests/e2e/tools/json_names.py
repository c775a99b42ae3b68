"""What commands printed with --json against the table of docs/operations.md, in both directions.

    json_names.py TABLE SAID

A line of SAID is a command, its exit code and the object, separated by tabs. Prints a line for each key, type or null
that is on one side only, and ends with 1 if there is one.
"""
import json
import sys

TYPES = {str: "text", int: "integer", bool: "boolean", list: "list", dict: "object", type(None): "null"}


def table_of(path):
    """{(command, key): set of types}, from the rows under the header `| key | in | type | what |`."""
    table, inside = {}, False
    for line in open(path, encoding="utf-8"):
        cells = [cell.strip() for cell in line.strip().split("|")[1:-1]]
        if cells[:3] == ["key", "in", "type"]:
            inside = True
        elif not cells:
            inside = False
        elif inside and not cells[0].startswith("---"):
            for key in cells[0].split(", "):
                for command in cells[1].split(", "):
                    table[command, key.strip("`")] = set(cells[2].split(" or "))
    return table


def walk(value, path=""):
    """The keys of an object and the types of what they lead to."""
    inner = value.items() if isinstance(value, dict) else (("[]", item) for item in value)
    for key, item in inner:
        key = path + key if key == "[]" or not path else f"{path}.{key}"
        if path == "counters":
            key = "counters.*"
        if not (key.endswith("[]") and isinstance(item, dict)):
            yield key, TYPES[type(item)]
        if isinstance(item, (dict, list)):
            yield from walk(item, key)


def main():
    table, said = table_of(sys.argv[1]), {}
    for line in open(sys.argv[2], encoding="utf-8"):
        command, code, text = line.rstrip("\n").split("\t")
        answer = json.loads(text)
        if code != "0" and "status" in answer:
            command = "failure"
        for key, kind in walk(answer):
            said.setdefault((command, key), set()).add(kind)
    wrong = 0
    for where in sorted(table.keys() | said.keys()):
        for kind in sorted(said.get(where, set()) - table.get(where, set())):
            wrong += 1
            print(f"{where[0]}: {where[1]} is {kind}, which the table does not say")
        for kind in sorted(table.get(where, set()) - said.get(where, set())):
            wrong += 1
            print(f"{where[0]}: {where[1]} was never {kind}, as the table says")
    return wrong > 0


sys.exit(main())
