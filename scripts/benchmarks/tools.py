"""What is measured with: other load generators, the binaries, and the machine."""

import os
import platform
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OHA = "1.16.0"


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def cache():
    default = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "throttlescope-tools")
    return os.environ.get("THROTTLESCOPE_TOOLS") or default


def start_installing_oha():
    """Compiles oha in the background, unless it is there. Returns what waits for it and gives its path, or None."""
    tools = cache()
    program = os.path.join(tools, "bin", "oha")
    if version(program) == OHA:
        return lambda: program
    say(f"compiling oha {OHA}; this takes minutes, once")
    build = os.path.join(tools, "build-oha")
    os.makedirs(tools, exist_ok=True)
    log = os.path.join(tools, "oha.log")
    with open(log, "wb") as out:
        child = subprocess.Popen(
            ["cargo", "install", "--root", tools, "--locked", "--force", "--version", OHA, "oha",
             "--no-default-features", "--features", "rustls"],
            env=dict(os.environ, CARGO_TARGET_DIR=build), stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def wait():
        child.wait()
        shutil.rmtree(build, ignore_errors=True)
        if version(program) != OHA:
            say(f"cannot install oha {OHA}; see {log}")
            return None
        return program

    return wait


def version(program):
    try:
        said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    except OSError:
        return None
    return said.split()[-1] if said.split() else None


def wrk():
    if not shutil.which("wrk") and os.getuid() == 0 and shutil.which("apt-get"):
        quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["apt-get", "-q", "update"], **quiet)
        subprocess.run(["apt-get", "-q", "-y", "--no-install-recommends", "install", "wrk"],
                       env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"), **quiet)
    found = shutil.which("wrk")
    if not found:
        say("wrk is not installed, and cannot be installed here; its rows are left out")
    return found


SERVER = os.path.join(ROOT, "target", "bench", "release", "do_nothing")


def build(binary):
    if binary:
        subprocess.run(["cargo", "build", "--release", "--locked", "--bin", "throttlescope"], cwd=ROOT, check=True)
    subprocess.run(["cargo", "build", "--release", "--locked", "--target-dir", os.path.join(ROOT, "target", "bench")],
                   cwd=os.path.join(ROOT, "benches", "do_nothing"), check=True)


def binary():
    return os.path.join(os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target"), "release", "throttlescope")


def there(path):
    if not os.path.exists(path):
        raise SystemExit(f"{path} is not there; leave out --no-build")
    return path


def take_precedence():
    """Lets what is started from here run before other work, where that is allowed."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    except OSError:
        pass


def machine(options):
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    load, nice = os.getloadavg()[0], os.getpriority(os.PRIO_PROCESS, 0)
    return (f"# Benchmarks\n\n{model}, {os.cpu_count()} cores, Linux {platform.release()}; load average at the start {load:.2f}, priority {nice}. "
            f"Rounds: {options.rounds} of {options.span:g} s, the candidates taking turns. Figures are median (least to most). "
            "CPU is user + system of the whole process, sampled in mid-run.\n")
