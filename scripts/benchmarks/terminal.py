"""A session on a pseudo-terminal, read or not."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time

from processes import InFolder

COLUMNS, ROWS = 100, 30


class Screen(InFolder):
    """throttlescope with a screen of 100 by 30, on a terminal that is read, or that nobody reads."""

    def __init__(self, binary, *arguments, reads=True):
        super().__init__()
        self.leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = dict(os.environ, XDG_STATE_HOME=self.directory, TERM="xterm-256color", LANG="C.UTF-8")
        environment.pop("NO_COLOR", None)
        self.began = time.monotonic()
        self.process = subprocess.Popen([binary, "run", "--out", self.out, *map(str, arguments)], cwd=self.directory, env=environment,
                                        stdin=follower, stdout=follower, stderr=follower, start_new_session=True)
        self.pid = self.process.pid
        os.close(follower)
        self.seen = 0
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.ended = threading.Event()
        if reads:
            self.reader.start()

    def let_go(self):
        self.ended.set()
        if self.reader.is_alive():
            self.reader.join()
        os.close(self.leader)

    def read(self):
        while not self.ended.is_set():
            if self.some(0.2) is None:
                return

    def some(self, seconds):
        """What the terminal got meanwhile; None at its end."""
        ready, _, _ = select.select([self.leader], [], [], seconds)
        if not ready:
            return b""
        try:
            data = os.read(self.leader, 1 << 16)
        except OSError:
            return None
        self.seen += len(data)
        return data or None

    def stop(self):
        """Ends it by a signal, which needs no reader, and gives the document."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        with open(self.out, encoding="utf-8") as file:
            return json.load(file)
