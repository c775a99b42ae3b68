// Keyring files: what is taken, what is refused and with which words, and that no error shows a
// secret.
#include "os/keyring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ID "cluster-id = 000102030405060708090a0b0c0d0e0f\n"
#define HASH "hash-key = 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"
#define KEY(digit)                                                                                 \
    "key = " digit "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"

static struct lh_error error;

static bool parse(const char *text, struct lh_keyring *ret_keyring)
{
    error.text[0] = '\0';
    return lh_keyring_parse(lh_slice_of_string(text), "ring", ret_keyring, &error);
}

// `text` is refused with exactly `why`, and nothing is returned.
static void assert_refused(const char *text, const char *why)
{
    struct lh_keyring keyring = {.key_count = 77};
    assert_false(parse(text, &keyring));
    assert_string_equal(error.text, why);
    assert_int_equal(keyring.key_count, 77);
}

static void a_whole_keyring_is_read(void **state)
{
    (void)state;
    struct lh_keyring keyring;
    assert_true(parse(ID HASH KEY("0") KEY("1"), &keyring));
    assert_int_equal(keyring.key_count, 2);
    assert_int_equal(keyring.cluster_id[0], 0);
    assert_int_equal(keyring.cluster_id[15], 15);
    assert_int_equal(keyring.hash_key[1], 0x11);
    assert_int_equal(keyring.hash_key[31], 0xff);
    assert_int_equal(keyring.keys[0][0], 0x01);
    assert_int_equal(keyring.keys[1][0], 0x11);
    assert_int_equal(keyring.keys[1][31], 0xef);
}

static void blanks_comments_and_order_do_not_matter(void **state)
{
    (void)state;
    struct lh_keyring keyring;
    assert_true(parse("# made by hand\r\n\n  ; another\n" KEY(
                          "2") "\t" HASH "cluster-id=000102030405060708090A0B0C0D0E0F  \r",
                      &keyring));
    assert_int_equal(keyring.key_count, 1);
    assert_int_equal(keyring.keys[0][0], 0x21);
    assert_int_equal(keyring.cluster_id[10], 10);
}

static void eight_keys_and_no_more(void **state)
{
    (void)state;
    struct lh_keyring keyring;
#define EIGHT KEY("0") KEY("1") KEY("2") KEY("3") KEY("4") KEY("5") KEY("6") KEY("7")
    assert_true(parse(ID HASH EIGHT, &keyring));
    assert_int_equal(keyring.key_count, 8);
    assert_refused(ID HASH EIGHT KEY("8"), "ring:11: key: more than 8 keys; remove retired ones");
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    assert_refused("", "ring: cluster-id is missing; `leasehold keygen` makes a whole keyring");
    assert_refused(ID KEY("0"),
                   "ring: hash-key is missing; `leasehold keygen` makes a whole keyring");
    assert_refused(ID HASH, "ring: key is missing; `leasehold keygen` makes a whole keyring");
}

static void what_is_given_twice_is_named(void **state)
{
    (void)state;
    assert_refused(ID HASH KEY("0") ID,
                   "ring:4: cluster-id: given before, on line 1; a cluster has one");
    assert_refused(HASH ID HASH KEY("0"),
                   "ring:3: hash-key: given before, on line 1; a cluster has one");
    assert_refused(ID HASH KEY("0") "\n" KEY("0"),
                   "ring:5: key: the same key as on line 3; remove one");
}

static void bad_values_are_named_and_not_shown(void **state)
{
    (void)state;
    assert_refused("cluster-id = 000102030405060708090a0b0c0d0e0\n",
                   "ring:1: cluster-id: want 32 hexadecimal digits, got 31 bytes (not shown): copy "
                   "it anew from another node");
    assert_refused("cluster-id = 000102030405060708090a0b0c0d0e0f0\n",
                   "ring:1: cluster-id: want 32 hexadecimal digits, got 33 bytes (not shown): copy "
                   "it anew from another node");
    assert_refused("cluster-id = 000102030405060708090a0b0c0d0e0g\n",
                   "ring:1: cluster-id: want 32 hexadecimal digits, got 32 bytes (not shown): copy "
                   "it anew from another node");
    assert_refused("cluster-id =\n", "ring:1: cluster-id: want 32 hexadecimal digits, got 0 bytes "
                                     "(not shown): copy it anew from another node");
    assert_refused("\nkey = 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde \n",
                   "ring:2: key: want 64 hexadecimal digits, got 63 bytes (not shown): copy it "
                   "anew from another node");
    assert_refused("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n",
                   "ring:1: not of the form `name = value`, as `leasehold keygen` makes them: copy "
                   "the keyring anew from another node");
    assert_refused("keys = 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n",
                   "ring:1: unknown name; a keyring holds cluster-id, hash-key and key");
    assert_refused("= 1\n", "ring:1: unknown name; a keyring holds cluster-id, hash-key and key");
}

// A directory of our own and a path in it.
static char directory[64];
static char path[96];

static int set_up(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/leasehold-keyring-XXXXXX");
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(path, sizeof(path), "%s/keyring", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    chmod(path, 0600);
}

static void a_generated_keyring_comes_back_from_its_file(void **state)
{
    (void)state;
    struct lh_keyring made, other, loaded;
    struct lh_error warning;
    struct stat status;
    assert_true(lh_keyring_generate(&made, &error));
    assert_true(lh_keyring_generate(&other, &error));
    assert_memory_not_equal(made.cluster_id, other.cluster_id, sizeof(made.cluster_id));
    assert_memory_not_equal(made.hash_key, other.hash_key, sizeof(made.hash_key));
    assert_memory_not_equal(made.keys[0], other.keys[0], sizeof(made.keys[0]));
    assert_true(lh_keyring_create(path, &made, &error));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_true(lh_keyring_load(path, &loaded, &warning, &error));
    assert_string_equal(warning.text, "");
    assert_memory_equal(&made, &loaded, sizeof(made));

    assert_false(lh_keyring_create(path, &other, &error));
    assert_non_null(strstr(error.text, "there is a file already"));
    assert_true(lh_keyring_load(path, &loaded, &warning, &error));
    assert_memory_equal(&made, &loaded, sizeof(made));
}

static void the_longest_keyring_is_formatted_whole(void **state)
{
    (void)state;
    struct lh_keyring keyring, again;
    char text[LH_KEYRING_TEXT_MAX];
    assert_true(parse(ID HASH EIGHT, &keyring));
    const size_t size = lh_keyring_format(&keyring, text);
    assert_int_equal(size, strlen(text));
    assert_string_equal(text, ID HASH EIGHT);
    assert_true(parse(text, &again));
    assert_memory_equal(&keyring, &again, sizeof(keyring));
}

static void wide_permissions_are_warned_of(void **state)
{
    (void)state;
    static const mode_t wide[] = {0640, 0604, 0660, 0601};
    struct lh_keyring keyring;
    struct lh_error warning;
    write_file(ID HASH KEY("0"));
    assert_true(lh_keyring_load(path, &keyring, &warning, &error));
    assert_string_equal(warning.text, "");
    chmod(path, 0400);
    assert_true(lh_keyring_load(path, &keyring, &warning, &error));
    assert_string_equal(warning.text, "");
    for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
        chmod(path, wide[i]);
        assert_true(lh_keyring_load(path, &keyring, &warning, &error));
        assert_non_null(strstr(warning.text, "chmod 0600"));
    }
}

static void a_file_that_is_no_keyring_is_refused(void **state)
{
    (void)state;
    struct lh_keyring keyring;
    struct lh_error warning;
    assert_false(lh_keyring_load(path, &keyring, &warning, &error));
    assert_non_null(strstr(error.text, "make one with `leasehold keygen`"));
    assert_false(lh_keyring_load(directory, &keyring, &warning, &error));
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(10); // which ends a test that waits for the other end
    assert_false(lh_keyring_load(path, &keyring, &warning, &error));
    alarm(0);
    assert_non_null(strstr(error.text, "keyring: not a regular file: make one with"));
    unlink(path);
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 16385; i++)
        fputc('\n', file);
    fclose(file);
    assert_false(lh_keyring_load(path, &keyring, &warning, &error));
    assert_non_null(strstr(error.text, "longer than 16384 bytes"));
    assert_int_equal(truncate(path, 16384), 0);
    assert_false(lh_keyring_load(path, &keyring, &warning, &error));
    assert_non_null(strstr(error.text, "cluster-id is missing"));
}

static void a_reload_changes_keys_and_nothing_else(void **state)
{
    (void)state;
    struct lh_keyring keyring, before;
    struct lh_error warning;
    write_file(ID HASH KEY("0"));
    assert_true(lh_keyring_load(path, &keyring, &warning, &error));
    write_file(ID HASH KEY("1") KEY("0"));
    assert_true(lh_keyring_reload(path, &keyring, &warning, &error));
    assert_int_equal(keyring.key_count, 2);
    assert_int_equal(keyring.keys[0][0], 0x11);

    before = keyring;
    write_file("cluster-id = ff0102030405060708090a0b0c0d0e0f\n" HASH KEY("2"));
    assert_false(lh_keyring_reload(path, &keyring, &warning, &error));
    assert_non_null(strstr(error.text, "cluster-id is another one"));
    write_file(
        ID
        "hash-key = ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n" KEY("2"));
    assert_false(lh_keyring_reload(path, &keyring, &warning, &error));
    assert_non_null(strstr(error.text, "hash-key is another one"));
    write_file("nonsense");
    assert_false(lh_keyring_reload(path, &keyring, &warning, &error));
    assert_memory_equal(&keyring, &before, sizeof(keyring));
}

static void wiping_leaves_nothing(void **state)
{
    (void)state;
    static const struct lh_keyring empty;
    struct lh_keyring keyring;
    memset(&keyring, 0, sizeof(keyring));
    assert_true(parse(ID HASH EIGHT, &keyring));
    lh_keyring_wipe(&keyring);
    assert_memory_equal(&keyring, &empty, sizeof(keyring));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_keyring_is_read),
        cmocka_unit_test(blanks_comments_and_order_do_not_matter),
        cmocka_unit_test(eight_keys_and_no_more),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(what_is_given_twice_is_named),
        cmocka_unit_test(bad_values_are_named_and_not_shown),
        cmocka_unit_test_setup_teardown(a_generated_keyring_comes_back_from_its_file, set_up,
                                        tear_down),
        cmocka_unit_test(the_longest_keyring_is_formatted_whole),
        cmocka_unit_test_setup_teardown(wide_permissions_are_warned_of, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_keyring_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reload_changes_keys_and_nothing_else, set_up, tear_down),
        cmocka_unit_test(wiping_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
