// `leasehold keygen`: the secrets of a new cluster, or one more sealing key for a cluster that has
// them.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/options.h"
#include "cli/output.h"
#include "os/keyring.h"

static int failed(const char *why)
{
    fprintf(stderr, "leasehold keygen: %s\n", why);
    return LH_EXIT_FAILED;
}

// A keyring that others can read is none.
static void warn_about_mode(bool key_only)
{
    struct stat output;
    if (fstat(STDOUT_FILENO, &output) == 0 && S_ISREG(output.st_mode) &&
        (output.st_mode & 077) != 0)
        fprintf(stderr,
                "leasehold keygen: warning: others may read this file: chmod 600 it, or %s\n",
                key_only ? "add the line to the keyring itself: leasehold keygen --key >> KEYRING"
                         : "name it: leasehold keygen FILE");
}

static int print(const struct lh_keyring *keyring, bool key_only)
{
    char text[LH_KEYRING_TEXT_MAX];
    if (key_only) {
        char key[2 * LH_KEY_BYTES + 1];
        lh_hex_encode(keyring->keys[0], LH_KEY_BYTES, key);
        snprintf(text, sizeof text, "key = %s\n", key);
    } else {
        lh_keyring_format(keyring, text);
    }
    warn_about_mode(key_only);
    fputs(text, stdout);
    return lh_output_end("keygen");
}

int lh_keygen_command(int argc, char **argv)
{
    struct lh_parsed parsed;
    bool key_only = false;
    int exit_code;
    const struct lh_option options[] = {
        {"key", LH_OPTION_FLAG, &key_only, NULL,
         "print only a new `key = ...` line, for the keyring of a running cluster: >> KEYRING"},
    };
    const struct lh_syntax syntax = {
        .command = "keygen",
        .arguments = "[FILE] [--key]",
        .about = "Makes the keyring of a new cluster: its id, its hash key and one sealing key.\n"
                 "Every daemon of the cluster gets the same file. With FILE, a new file of mode\n"
                 "0600 is made; without, it is printed. The secrets are made once and copied.",
        .positionals_most = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &exit_code))
        return exit_code;
    if (key_only && parsed.positional_count > 0) {
        lh_complain("keygen",
                    "--key prints one line to add by hand and takes no file, but '%s' was given",
                    parsed.positionals[0]);
        return LH_EXIT_USAGE;
    }
    struct lh_keyring keyring;
    struct lh_error error;
    if (!lh_keyring_generate(&keyring, &error))
        return failed(error.text);
    if (parsed.positional_count == 0)
        exit_code = print(&keyring, key_only);
    else if (lh_keyring_create(parsed.positionals[0], &keyring, &error))
        exit_code = LH_EXIT_OK;
    else
        exit_code = failed(error.text);
    lh_keyring_wipe(&keyring);
    return exit_code;
}
