"""CPU per request of the simulated endpoint, and client and endpoint together."""

import json
import os
import tempfile
import time

import tools
from processes import CLIENT_CORE, TARGET_CORE, Sample, Server, Session, cpu_seconds, spread, table

TABLE = "bench"
RATE, TOGETHER = 8_000, 16_000
BUSY = 'about = "Accepts what the client offers."\n[partitions]\ncount = 40\n[table]\nactivation_s = 0\n'
TINY = 'about = "Refuses nearly everything."\n[partitions]\ncount = 1\nwrite_per_s = 1\n[table]\nactivation_s = 0\n'
AT_ONCE = "[latency_ms]\nwrite = { p50 = 0, p99 = 0 }\nread = { p50 = 0, p99 = 0 }\nrefusal = { p50 = 0, p99 = 0 }\n"


def run(options):
    cases = [("PutItem served, with simulated latency", BUSY, "accepted", ""), ("PutItem served, at once", BUSY + AT_ONCE, "accepted", "<= 25 us"),
             ("refusal, with simulated latency", TINY, "throttled", ""), ("refusal, at once", TINY + AT_ONCE, "throttled", "<= 12 us")]
    samples = {name: [] for name, *_ in cases}
    with tempfile.TemporaryDirectory() as directory:
        for turn in range(options.rounds):
            for name, profile, counted, _ in cases:
                tools.say(f"embedded: {name}, round {turn + 1} of {options.rounds}")
                samples[name].append(serve(options, directory, profile, counted))
    rows = [[name, spread((s.rate for s in samples[name]), 0), spread(s.target_us for s in samples[name]), goal,
             f"{max(s.elsewhere for s in samples[name]):.2f}"] for name, _, _, goal in cases]
    header = ["request", "requests/s", "CPU of the endpoint per request, us", "goal", "other programs, cores at most"]
    print(f"## Simulated endpoint\n\nOffered {RATE:,} signed writes of 1,000 bytes per second, the endpoint on a core of its own.\n\n"
          f"{table(header, rows)}", flush=True)
    together(options)


def serve(options, directory, profile, counted):
    path = os.path.join(directory, "profile.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(profile)
    command = [options.binary, "embedded", "--embedded-profile", path, "--listen", "127.0.0.1:0"]
    with Server(command, cores={TARGET_CORE}) as server:
        server.create_table(TABLE)
        count = lambda: (json.loads(server.get(f"/throttlescope/ledger?table={TABLE}"))[counted],)  # noqa: E731
        time.sleep(0.5)
        with Session(options.binary, "--endpoint-url", server.url, "--table", TABLE, "--write-to-existing", "--rate", RATE,
                     "--window", "3600s", "--shards", 1, cores={CLIENT_CORE}) as session:
            end = time.monotonic() + 20
            while count()[0] < RATE / 2:
                if time.monotonic() > end:
                    raise SystemExit(f"the simulated endpoint counted nothing {counted}")
                time.sleep(0.1)
            time.sleep(1)
            sample = Sample(session.pid, server, options.span, count)
            session.stop()
            return sample


def together(options):
    """Client and endpoint as one process, as in a first try without an account."""
    rows = []
    for profile in ("warm", "null"):
        for _ in range(options.rounds):
            tools.say(f"embedded: client and endpoint together at {TOGETHER:,}/s, {profile}")
            seconds = 8 if options.quick else 20
            with Session(options.binary, "--rate", TOGETHER, "--window", f"{seconds}s", "--shards", 1, "--embedded-profile", profile,
                         "--embedded-time-scale", 100) as session:
                time.sleep(3)
                before, start = cpu_seconds(session.pid), time.monotonic()
                time.sleep(seconds - 4)
                cores = (cpu_seconds(session.pid) - before) / (time.monotonic() - start)
                window = session.document()["windows"][0]
            error = window["client"]["schedule_error_ms"]["p99"]
            holds = window["shed"] == 0 and error is not None and error < 2.0
            rows.append([profile, f"{TOGETHER:,}", f"{window['accepted_per_s']:,.0f}", window["shed"], window["throttled"],
                         "-" if error is None else f"{error:.2f}", f"{cores:.2f}", "yes" if holds else "no"])
    header = ["profile", "offered/s", "accepted/s", "shed", "throttled", "schedule error p99, ms", "cores used", "holds"]
    print(f"### Client and endpoint in one process at {TOGETHER:,}/s\n\nGoal: it holds on 2 cores (nothing shed, schedule error p99 under "
          f"2 ms).\n\n{table(header, rows)}", flush=True)
