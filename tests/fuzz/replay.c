// Runs one fuzz target over a stored corpus, without libFuzzer: each file below the directory given
// is one TAP case, and the empty input is the first. A target fails by dying, so the name is
// printed before each input and the unfinished plan tells the rest.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LH_INPUT_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static size_t read_input(const char *directory, const char *name, uint8_t *ret_bytes)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        printf("Bail out! cannot open %s\n", path);
        exit(1);
    }
    const size_t size = fread(ret_bytes, 1, LH_INPUT_MAX, file);
    fclose(file);
    return size;
}

// The target gets a block of exactly `size` bytes, so that the sanitizer sees a read past its end.
static void run_case(int number, const char *name, const uint8_t *bytes, size_t size)
{
    printf("# %s\n", name);
    fflush(stdout);
    uint8_t *exact = malloc(size);
    if (exact == NULL && size > 0)
        abort();
    for (size_t i = 0; i < size; i++)
        exact[i] = bytes[i];
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    printf("ok %d - %s\n", number, name);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 64;
    }
    struct dirent **entries = NULL;
    const int count = scandir(argv[1], &entries, is_visible, alphasort);
    uint8_t *input = malloc(LH_INPUT_MAX);
    if (count < 0 || input == NULL) {
        printf("Bail out! cannot read the corpus %s\n", argv[1]);
        free(input);
        return 1;
    }
    printf("1..%d\n", count + 1);
    run_case(1, "the empty input", input, 0);
    for (int i = 0; i < count; i++) {
        const size_t size = read_input(argv[1], entries[i]->d_name, input);
        run_case(i + 2, entries[i]->d_name, input, size);
        free(entries[i]);
    }
    free(entries);
    free(input);
    return 0;
}
