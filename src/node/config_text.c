// What --help says. See config.h.
#include "node/config.h"

#include "node/config_key.h"

static const char member_help[] = "a member and its address: IPv4, [IPv6] or host name, port 7741 "
                                  "unless given; in the file: address, in a section [node N]";

static const char *placeholder(enum lh_config_type type)
{
    switch (type) {
    case LH_CONFIG_NUMBER: return "NUMBER";
    case LH_CONFIG_MODE: return "MODE";
    case LH_CONFIG_PATH: return "PATH";
    case LH_CONFIG_LISTEN: return "ADDRESS";
    case LH_CONFIG_DURATION: return "DURATION";
    case LH_CONFIG_RATE: return "PERCENT";
    case LH_CONFIG_SWITCH: return "on|off";
    case LH_CONFIG_LEVEL: return "LEVEL";
    }
    return "VALUE";
}

void lh_config_write_help(FILE *out)
{
    fputs("  --config FILE       ini file; every key below is also a line `KEY = VALUE` of it,\n"
          "                      and flags win; " LH_CONFIG_FILE_DEFAULT "\n"
          "                      is read if there is neither a FILE nor a KEY\n"
          "  --config-test       check the configuration, its keyring and directories, print the\n"
          "                      timing it means, and exit with 0 or 64\n"
          "  --help, --version   print this, or the version, and exit\n\n",
          out);
    for (size_t i = 0; i < LH_CONFIG_KEYS; i++) {
        const struct lh_config_key *key = &lh_config_keys[i];
        fprintf(out, "  --%s %s\n        %s\n        %s", key->name, placeholder(key->type),
                key->help, key->allowed);
        if (key->initial == NULL)
            fputs("; required\n", out);
        else if (key->initial[0] == '\0')
            fputs("; default: nothing\n", out);
        else
            fprintf(out, "; default: %s\n", key->initial);
    }
    fprintf(out, "  --member N=ADDRESS\n        %s\n", member_help);
}
