"""Children pinned to cores, their CPU clocks, and the do-nothing server's count."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import statistics
import subprocess
import tempfile
import threading
import time

TARGET_CORE = 0
CLIENT_CORE = (os.cpu_count() or 1) - 1


def cpu_seconds(pid):
    """User and system time of a process, from its own clock, in nanosecond steps."""
    return time.clock_gettime((~pid << 3) | 2)


def thread_cpu_seconds(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def resident_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) / 1024


def busy_cores():
    """A counter of busy CPU seconds of the whole machine."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _wait, irq, soft, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def pinned(cores):
    return None if cores is None else lambda: os.sched_setaffinity(0, cores)


@contextlib.contextmanager
def child(command, cores=None, **options):
    """A child that does not outlive the block."""
    settings = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    settings.update(options)
    process = subprocess.Popen(command, preexec_fn=pinned(cores), **settings)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def interrupt(process, seconds=30):
    """Asks a session to stop, and waits until it has written its document."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class InFolder:
    """A run of throttlescope in a folder of its own: both are gone when it is left."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="throttlescope-bench-")
        self.out = os.path.join(self.directory, "session.json")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.let_go()
        shutil.rmtree(self.directory, ignore_errors=True)


class Session(InFolder):
    """A run of throttlescope without a screen."""

    def __init__(self, binary, *arguments, cores=None, environment=None):
        super().__init__()
        self.log = open(os.path.join(self.directory, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [binary, "run", "--headless", "--out", self.out, *map(str, arguments)], cwd=self.directory,
            env=dict(os.environ, XDG_STATE_HOME=self.directory, **(environment or {})), stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, preexec_fn=pinned(cores))
        self.pid = self.process.pid

    def let_go(self):
        self.log.close()

    def document(self, seconds=60):
        """Waits for the end, and gives the document."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            interrupt(self.process)
        return self.read()

    def stop(self):
        interrupt(self.process)
        return self.read()

    def read(self):
        try:
            with open(self.out, encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            self.log.seek(0)
            raise SystemExit(f"throttlescope wrote no document:\n{self.log.read()[-2000:]}") from None


class Server:
    """A server started as a child; it says its address in its first line."""

    def __init__(self, command, cores=None, authority=None, roots=None):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, preexec_fn=pinned(cores))
        self.pid = self.process.pid
        first = self.process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", first)
        if not found:
            raise SystemExit(f"{command[0]} did not start: {first}{self.process.stdout.read()}")
        # What else it says is read away, so that it never waits for a reader.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        self.port = int(found.group(1))
        self.secure = roots is not None
        self.url = f"http{'s' if self.secure else ''}://{authority or '127.0.0.1'}:{self.port}"
        if self.secure:
            self.control = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10,
                                                       context=ssl.create_default_context(cafile=roots))
        else:
            self.control = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.control.close()
        self.process.kill()
        self.process.wait()

    def get(self, path):
        self.control.request("GET", path)
        return self.control.getresponse().read()

    def create_table(self, name):
        body = {"TableName": name, "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "Tags": []}
        headers = {"x-amz-target": "DynamoDB_20120810.CreateTable", "content-type": "application/x-amz-json-1.0",
                   "authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
                   "x-amz-date": "20260101T000000Z"}
        self.control.request("POST", "/", json.dumps(body), headers)
        answer = self.control.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise SystemExit(f"cannot create a table at {self.url}: {said.decode()}")


class DoNothing(Server):
    """The do-nothing server."""

    def __init__(self, binary, tls=None):
        options = ["--tls", tls.chain, tls.key] if tls else []
        super().__init__([binary, *options], cores={TARGET_CORE}, roots=tls.roots if tls else None)

    def counted(self):
        said = json.loads(self.get("/"))
        return said["requests"], said["bytes"]

    def last(self):
        """Head lines and body of the last request, as they came."""
        head, _, body = self.get("/last").partition(b"\r\n\r\n")
        return head.decode("latin-1").split("\r\n"), body

    def wait_for_traffic(self, process, seconds=20):
        before, end = self.counted()[0], time.monotonic() + seconds
        while self.counted()[0] < before + 100:
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit("a client sent nothing; run it by hand to see why")
            time.sleep(0.02)


class Sample:
    """What passed between two instants in mid-run."""

    def __init__(self, pid, server, span, count):
        clocks = lambda: (time.monotonic(), count(), cpu_seconds(pid), cpu_seconds(server.pid), busy_cores())  # noqa: E731
        first = clocks()
        time.sleep(span)
        last = clocks()
        seconds, self.counts, cpu, target, busy = [
            tuple(b - a for a, b in zip(x, y)) if isinstance(x, tuple) else y - x for x, y in zip(first, last)]
        self.requests = self.counts[0] or 1
        self.rate = self.requests / seconds
        self.client_us = cpu / self.requests * 1e6
        self.target_us = target / self.requests * 1e6
        self.client_cores, self.target_cores = cpu / seconds, target / seconds
        # What other programs of this machine took meanwhile.
        self.elsewhere = max(0.0, busy / seconds - self.client_cores - self.target_cores)


def spread(values, digits=1):
    values = list(values)
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"
