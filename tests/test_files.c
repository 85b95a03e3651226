/* The writer of files: what stays of the file before, which links are followed, what is never left behind. */
#define _GNU_SOURCE
#include "test.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/sked-files-XXXXXX";

static const char *inside(const char *name)
{
    static char path[4][600];
    static int turn;
    char *const out = path[turn++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

/* Every test begins in an empty folder of its own and works inside it. */
static int enter(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int count(void)
{
    int n = -2; /* . and .. */
    DIR *d = opendir(folder);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static int empty_and_leave(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        unlinkat(dirfd(d), e->d_name, e->d_type == DT_DIR ? AT_REMOVEDIR : 0);
    closedir(d);
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static void holds(const char *path, const char *want)
{
    char *data = NULL;
    int64_t size = 0;
    OK(sked_i_file_read(path, 1 << 20, &data, &size, err));
    assert_string_equal(data, want);
    free(data);
}

static void put(const char *path, const char *text)
{
    OK(sked_file_write(path, text, strlen(text), err));
}

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode;
}

static void modes(void **state)
{
    (void)state;
    static const mode_t kept[] = {0600, 0640, 0644, 0666, 0755, 0200};
    const mode_t mask = umask(027);
    put("new", "x");
    assert_int_equal(mode_of("new") & 07777, 0640);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_int_equal(chmod("new", kept[i]), 0);
        put("new", "y");
        assert_int_equal(mode_of("new") & 07777, kept[i]);
        OK(sked_i_file_save("new", "z", 1, err));
        assert_int_equal(mode_of("new") & 07777, kept[i]);
    }
    umask(mask);
    assert_int_equal(count(), 1);
}

static void owners(void **state)
{
    (void)state;
    struct stat info;
    if (geteuid() != 0) { /* only root gives files away */
        print_message("skipped: only root can give a file to another user\n");
        skip();
    }
    put("file", "x");
    assert_int_equal(chown("file", 12345, 23456), 0);
    assert_int_equal(chmod("file", 0660), 0);
    put("file", "y");
    assert_int_equal(stat("file", &info), 0);
    assert_int_equal(info.st_uid, 12345);
    assert_int_equal(info.st_gid, 23456);
    assert_int_equal(info.st_mode & 0777, 0660);
}

static void links_stay(void **state)
{
    (void)state;
    put("target", "old");
    assert_int_equal(mkdir("deep", 0777), 0);
    assert_int_equal(symlink("../target", "deep/second"), 0);
    assert_int_equal(symlink("deep/second", "first"), 0);
    put("first", "new");
    holds("target", "new");
    put(inside("first"), "newer"); /* by an absolute path */
    holds("target", "newer");
    assert_true(S_ISLNK(mode_of("first")) && S_ISLNK(mode_of("deep/second")) && S_ISREG(mode_of("target")));
    assert_int_equal(symlink(inside("made"), "dangling"), 0); /* to a file that is not there yet */
    put("dangling", "made");
    holds("made", "made");
    assert_true(S_ISLNK(mode_of("dangling")));
    assert_int_equal(symlink("round", "round"), 0);
    FAILS(SKED_ERR_IO, "round: cannot write", sked_file_write("round", "x", 1, err));
    assert_int_equal(symlink("nowhere/at/all", "lost"), 0);
    FAILS(SKED_ERR_IO, "lost: cannot create: No such file", sked_file_write("lost", "x", 1, err));
    assert_int_equal(unlink("deep/second"), 0);
    assert_int_equal(count(), 7);
}

/* A name that fills the limit leaves no room for a suffix; the folder's path may be long as well. */
static void long_names(void **state)
{
    (void)state;
    char name[257];
    memset(name, 'n', sizeof name);
    name[255] = 0;
    put(name, "x");
    put(name, "y");
    holds(name, "y");
    name[255] = 'n';
    name[256] = 0;
    FAILS(SKED_ERR_IO, "name too long", sked_file_write(name, "x", 1, err));
    assert_int_equal(count(), 1);
}

static void paths(void **state)
{
    (void)state;
    FAILS(SKED_ERR_IO, "cannot create: No such file", sked_file_write("", "x", 1, err));
    FAILS(SKED_ERR_IO, "none/: cannot create: Is a directory", sked_file_write("none/", "x", 1, err));
    FAILS(SKED_ERR_IO, "cannot write: Is a directory", sked_file_write(".", "x", 1, err));
    FAILS(SKED_ERR_IO, "cannot write: Is a directory", sked_file_write("/", "x", 1, err));
    put("file", "x");
    FAILS(SKED_ERR_IO, "Not a directory", sked_file_write("file/x", "x", 1, err));
    FAILS(SKED_ERR_IO, "Not a directory", sked_file_write("file/", "x", 1, err));
    assert_int_equal(count(), 1);
}

/* What was a predictable name once: a link prepared there leads nowhere. */
static void prepared_links(void **state)
{
    (void)state;
    char name[64];
    put("victim", "safe");
    assert_int_equal(symlink("victim", "plan.json.tmp"), 0);
    for (int k = 0; k < 3; k++) {
        snprintf(name, sizeof name, "plan.json.tmp%ld-%d", (long)getpid(), k);
        assert_int_equal(symlink("victim", name), 0);
    }
    put("plan.json", "plan");
    holds("victim", "safe");
    holds("plan.json", "plan");
}

/* Pipes and devices are written in place, and open streams where they stand. */
static void streams(void **state)
{
    (void)state;
    char text[10] = "", path[40];
    put("/dev/null", "x");
    assert_int_equal(mkfifo("fifo", 0666), 0);
    const int fifo = open("fifo", O_RDWR | O_CLOEXEC);
    put("fifo", "piped");
    assert_int_equal(read(fifo, text, 5), 5);
    assert_string_equal(text, "piped");
    assert_true(S_ISFIFO(mode_of("fifo")));
    close(fifo);
    const int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_int_equal(write(fd, "begin ", 6), 6);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    put(path, "middle ");
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    put(path, "more ");
    assert_int_equal(symlink(path, "link"), 0); /* as /dev/stdout is */
    put("link", "end");
    close(fd);
    holds("file", "begin middle more end");
    assert_int_equal(count(), 3);
}

/* Before the work: what can be written, without touching it. */
static void checks(void **state)
{
    (void)state;
    struct stat before, after;
    put("file", "x");
    assert_int_equal(stat("file", &before), 0);
    OK(sked_file_check("file", err));
    OK(sked_file_check("new", err));
    OK(sked_file_check("-", err));
    OK(sked_file_check("/dev/null", err));
    assert_int_equal(stat("file", &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(count(), 1);
    FAILS(SKED_ERR_IO, "none/x: cannot create: No such file", sked_file_check("none/x", err));
    FAILS(SKED_ERR_IO, "Is a directory", sked_file_check(folder, err));
}

/* As a user who may not. The child leaves with the number of the check that failed. */
static void locked(void **state)
{
    (void)state;
    put("readonly", "x");
    assert_int_equal(chmod("readonly", 0444), 0);
    assert_int_equal(mkdir("shut", 0555), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    const pid_t child = fork();
    if (child == 0) {
        sked_error e = {0};
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(1);
        if (sked_file_check("readonly", &e) != SKED_ERR_IO || strstr(e.message, "denied") == NULL)
            _exit(2);
        if (sked_file_write("readonly", "y", 1, NULL) != SKED_ERR_IO)
            _exit(3);
        if (sked_file_check("shut/x", NULL) != SKED_ERR_IO ||
            sked_file_write("shut/x", "y", 1, NULL) != SKED_ERR_IO)
            _exit(4);
        _exit(sked_file_write("open", "y", 1, NULL) == SKED_OK ? 0 : 5);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    holds("readonly", "x");
}

/* One file under two names: whether it is there or not, by folder and name, through links of both kinds. */
static void same_files(void **state)
{
    (void)state;
    assert_int_equal(mkdir("sub", 0777), 0);
    assert_int_equal(symlink(".", "here"), 0);
    assert_int_equal(symlink("here/new", "soft"), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    for (int there = 0; there < 2; there++) {
        static const char *const names[] = {"new", "./new", "sub/../new", "here/new", "soft"};
        for (int i = 0; i < 5; i++) {
            assert_true(sked_file_same(names[i], "new"));
            assert_true(sked_file_same(inside("new"), names[i]));
            assert_false(sked_file_same(names[i], "sub/new"));
            assert_false(sked_file_same("New", names[i]));
        }
        put("new", "x");
    }
    assert_int_equal(link("new", "hard"), 0);
    assert_true(sked_file_same("hard", "soft"));
    put("other", "x");
    assert_false(sked_file_same("other", "new"));
    static const char *const no_files[] = {"/dev/null", "-", "sub", "none/x", "loop", "/dev/fd/999", ""};
    for (int i = 0; i < 7; i++)
        assert_true(!sked_file_same(no_files[i], "new") &&
                    sked_file_same(no_files[i], no_files[i]) == (strcmp(no_files[i], "-") == 0));
    const int fd = open("new", O_WRONLY);
    char path[32];
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    assert_true(sked_file_same(path, "hard"));
    close(fd);
}

static ino_t number_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_ino;
}

static void append(const char *path, const char *begin, const char *more)
{
    sked_i_append a;
    OK(sked_i_append_open(&a, path, begin, (int64_t)strlen(begin), err));
    holds(path, begin);
    OK(sked_i_append_add(&a, more, (int64_t)strlen(more), err));
    sked_i_append_close(&a);
}

/* A log goes on where it holds what it begins with, and is replaced whole elsewhere; what others hold open
 * stays. */
static void logs_grow(void **state)
{
    (void)state;
    append("log", "head\n", "one\n");
    const ino_t first = number_of("log");
    assert_int_equal(symlink("log", "soft"), 0);
    append("soft", "head\none\n", "two\n");
    assert_true(number_of("log") == first);
    const int old = open("log", O_RDONLY);
    append("./log", "head\n", "three\n"); /* fewer lines than there are */
    holds("log", "head\nthree\n");
    char text[40] = "";
    assert_true(read(old, text, sizeof text - 1) > 0);
    assert_string_equal(text, "head\none\ntwo\n");
    close(old);
    append("log", "head\nthree\nfour\n", "five\n"); /* more */
    append("log", "HEAD\n", "");
    holds("soft", "HEAD\n");
    sked_i_append a;
    FAILS(SKED_ERR_IO, "none/log", sked_i_append_open(&a, "none/log", "x", 1, err));
    sked_i_append_close(&a);
    OK(sked_i_append_open(&a, "/dev/null", "x", 1, err));
    OK(sked_i_append_add(&a, "y", 1, err));
    sked_i_append_close(&a);
    assert_int_equal(count(), 2);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, empty_and_leave)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(modes),  IN_FOLDER(owners),         IN_FOLDER(links_stay), IN_FOLDER(long_names),
        IN_FOLDER(paths),  IN_FOLDER(prepared_links), IN_FOLDER(streams),    IN_FOLDER(checks),
        IN_FOLDER(locked), IN_FOLDER(same_files),     IN_FOLDER(logs_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
