/*
 * A command of the fake batch system, as ../program is one too: it takes a twentieth of the time to start, and tests call
 * thousands. Package serve says what goes over the line. Where there is no C compiler, or none that links
 * statically, the program is the commands.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

static void fail(const char *what)
{
	dprintf(2, "fakebatch: %s: %s\n", what, errno ? strerror(errno) : "it ended");
	_exit(254);
}

static void all_out(int to, const char *from, size_t n, const char *what)
{
	while (n > 0) {
		ssize_t k = write(to, from, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			fail(what);
		from += k, n -= k;
	}
}

static void all_in(int from, void *to, size_t n)
{
	char *p = to;
	while (n > 0) {
		ssize_t k = read(from, p, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k == 0)
			errno = 0;
		if (k <= 0)
			fail("reading the answer of the fake batch system's server");
		p += k, n -= k;
	}
}

/* What is sent: a block of bytes that grows. */
static char *block;
static size_t length, room;

static void put(const char *bytes, size_t n)
{
	if (length + n > room) {
		room = 2 * (length + n) + 65536;
		block = realloc(block, room);
		if (!block)
			fail("keeping what is sent");
	}
	memcpy(block + length, bytes, n);
	length += n;
}

static void put_text(const char *text) { put(text, strlen(text) + 1); }

static void put_number(unsigned long n)
{
	char digits[24];
	snprintf(digits, sizeof digits, "%lu", n);
	put_text(digits);
}

static void send_block(int line, const char *first, size_t n)
{
	uint32_t size = length;
	all_out(line, first, n, "calling the fake batch system's server");
	all_out(line, (char *)&size, sizeof size, "calling the fake batch system's server");
	all_out(line, block, length, "calling the fake batch system's server");
	length = 0;
}

static void send_input(int line)
{
	char part[65536];
	ssize_t k;
	while ((k = read(0, part, sizeof part)) != 0) {
		if (k < 0 && errno != EINTR)
			fail("reading the script");
		if (k > 0)
			put(part, k);
	}
	send_block(line, "", 0);
}

/* stream hands one stream of the answer over. */
static void stream(int line, int to, uint32_t n)
{
	char part[65536];
	while (n > 0) {
		uint32_t k = n < sizeof part ? n : sizeof part;
		all_in(line, part, k);
		all_out(to, part, k, "writing the answer");
		n -= k;
	}
}

int main(int argc, char **argv)
{
	char self[PATH_MAX + 1], folder[PATH_MAX + 1], here[PATH_MAX + 1];
	ssize_t n = readlink("/proc/self/exe", self, PATH_MAX);
	if (n < 0)
		fail("finding out by which name it was called");
	self[n] = 0;
	if (!getcwd(here, sizeof here))
		fail("finding the working folder");
	put_text(strrchr(self, '/') + 1);
	put_text(here);
	put_number(getuid());
	put_number(argc - 1);
	for (int i = 1; i < argc; i++)
		put_text(argv[i]);
	for (char **e = environ; *e; e++)
		put_text(*e);

	strcpy(folder, self);
	char *top = dirname(dirname(folder)); /* of DIR/FACE/COMMAND */
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	if (snprintf(at.sun_path, sizeof at.sun_path, "%s/socket", top) >= (int)sizeof at.sun_path)
		errno = ENAMETOOLONG, fail(top);
	int line = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (line < 0 || connect(line, (struct sockaddr *)&at, sizeof at) < 0)
		fail("calling the fake batch system's server");
	send_block(line, "", 1);

	char kind;
	all_in(line, &kind, 1);
	if (kind == 'i') {
		send_input(line);
		all_in(line, &kind, 1);
	}
	uint32_t sizes[3]; /* exit code, stdout, stderr */
	all_in(line, sizes, sizeof sizes);
	stream(line, 1, sizes[1]);
	stream(line, 2, sizes[2]);
	return (int32_t)sizes[0];
}
