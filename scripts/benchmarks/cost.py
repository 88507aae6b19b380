"""CPU per request of the client, beside other load generators, against the do-nothing server."""

import os
import statistics
import subprocess
import tempfile
import time

import tools
from processes import CLIENT_CORE, DoNothing, Sample, Session, child, spread, table

SETTLE = 1.5
SDK_RATE = 4_000
# Headers that every client sets by itself, and those of a signature.
OWN = {"host", "content-length"}
SIGNED = {"authorization", "x-amz-date"}


class Request:
    """The bytes that the instrument sends, for others to send the same."""

    def __init__(self, options, directory):
        with DoNothing(options.server) as server:
            with Session(options.binary, *arguments(options, server, 500, 10)) as session:
                server.wait_for_traffic(session.process)
                head, body = server.last()
        self.bytes = len("\r\n".join(head)) + 4 + len(body)
        headers = [[part.strip() for part in line.split(":", 1)] for line in head[1:]]
        self.headers = [(name, value) for name, value in headers if name.lower() not in OWN]
        self.body = os.path.join(directory, "body.json")
        with open(self.body, "wb") as file:
            file.write(body)
        self.script = os.path.join(directory, "request.lua")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write('wrk.method = "POST"\n')
            for name, value in self.headers:
                file.write(f'wrk.headers["{name}"] = [==[{value}]==]\n')
            file.write(f"wrk.body = [==[{body.decode()}]==]\n")


def arguments(options, server, rate, seconds, client=None, shards=1):
    chosen = ["--client", client] if client else []
    return ["--endpoint-url", server.url, "--rate", rate, "--window", f"{seconds:.0f}s", "--shards", shards,
            "--max-in-flight", options.connections, "--item-bytes", 1000, *chosen]


def has_client_option(options):
    said = subprocess.run([options.binary, "run", "--help"], stdout=subprocess.PIPE, text=True).stdout
    return "--client" in said


def instrument(options, rate, client=None, environment=None, tls=None):
    """One measurement of the instrument at a rate, with its document."""
    with DoNothing(options.server, tls) as server:
        with Session(options.binary, *arguments(options, server, rate, 3600, client), cores={CLIENT_CORE},
                     environment=environment) as session:
            server.wait_for_traffic(session.process)
            time.sleep(SETTLE)
            sample = Sample(session.pid, server, options.span, server.counted)
            sample.document = session.stop()
            return sample


def peer(options, command):
    with DoNothing(options.server) as server:
        with child([*command, server.url + "/"], cores={CLIENT_CORE}) as process:
            server.wait_for_traffic(process)
            time.sleep(SETTLE)
            return Sample(process.pid, server, options.span, server.counted)


def oha(options, request, rate=None, signs=False):
    """One worker thread when paced, the default of two when not: what costs oha less on its one core."""
    headers = [(name, value) for name, value in request.headers if not (signs and name.lower() in SIGNED)]
    words = [word for name, value in headers for word in ("-H", f"{name}: {value}")]
    if rate:
        words += ["--worker-threads", "1", "-q", str(rate)]
    if signs:
        words += ["-a", "throttlescope:throttlescope", "--aws-sigv4", "aws:amz:us-east-1:dynamodb"]
    return peer(options, [options.oha, "--no-tui", "-z", "3600s", "-c", str(options.connections), "-m", "POST", *words,
                          "-D", request.body])


def wrk(options, request):
    return peer(options, [options.wrk, "-t1", f"-c{options.connections}", "-d3600s", "-s", request.script])


def most(options, client=None):
    """A rate slightly above what the instrument holds on one core."""
    sample = instrument(options, 150_000, client)
    again = instrument(options, int(sample.rate * 1.1), client)
    return int(max(sample.rate, again.rate) * 1.05)


OHA_LACKS = "unsigned, constant body and key, not classified beyond the status, latencies only"
WRK_LACKS = "unsigned, constant request rendered once, closed loop: no schedule, no late or shed requests, not classified"


class Candidate:
    def __init__(self, name, measure, lacks, goal=None):
        self.name, self.measure, self.lacks, self.goal, self.samples = name, measure, lacks, goal, []


def compare(title, candidates, rounds, note):
    """Measures the candidates in turns; the ratios are the first one's cost over the others'."""
    for turn in range(rounds):
        for candidate in candidates:
            tools.say(f"{title}: {candidate.name}, round {turn + 1} of {rounds}")
            candidate.samples.append(candidate.measure())
    ours = [sample.client_us for sample in candidates[0].samples]
    rows = []
    for candidate in candidates:
        theirs = [sample.client_us for sample in candidate.samples]
        ratio = ""
        if candidate is not candidates[0]:
            by_round = [a / b for a, b in zip(ours, theirs)]
            ratio = f"**{statistics.median(ours) / statistics.median(theirs):.2f}x** ({min(by_round):.2f} to {max(by_round):.2f})"
        samples = candidate.samples
        rows.append([candidate.name, spread((s.rate for s in samples), 0), f"{statistics.median(s.counts[1] / s.requests for s in samples):,.0f}",
                     spread(theirs), ratio, candidate.goal or "", f"{statistics.median(s.target_cores for s in samples):.2f}",
                     f"{max(s.elsewhere for s in samples):.2f}", candidate.lacks])
    header = ["client", "requests/s", "bytes sent each", "CPU per request, us", "wire costs, as a ratio", "goal", "target, cores",
              "other programs, cores at most", "does not"]
    print(f"## {title}\n\n{note}\n\n{table(header, rows)}", flush=True)


def shed_note(candidate):
    shed = [sum(w["shed"] for w in s.document["windows"]) for s in candidate.samples]
    errors = [w["client"]["schedule_error_ms"]["p99"] for s in candidate.samples for w in s.document["windows"][:1]]
    shown = ", ".join("-" if e is None else f"{e:.2f}" for e in errors)
    print(f"wire, by round: shed {', '.join(map(str, shed))}; schedule error p99 {shown} ms.\n", flush=True)


def run(options):
    with tempfile.TemporaryDirectory() as directory:
        request = Request(options, directory)
        paced(options, request)
        beside_sdk(options)
        saturated(options, request)


def paced(options, request):
    rate = options.rate
    wire = Candidate("wire", lambda: instrument(options, rate), "(signs each request, unique keys, classifies, records)")
    candidates = [wire]
    if options.oha:
        candidates.append(Candidate("oha -q", lambda: oha(options, request, rate), OHA_LACKS, "<= 1.0x"))
        candidates.append(Candidate("oha -q, signing", lambda: oha(options, request, rate, signs=True), OHA_LACKS.removeprefix("unsigned, ")))
    compare(f"Cost per request, paced at {rate:,}/s", candidates, options.rounds,
            f"{options.connections} connections at most; the same {request.bytes} bytes per request but for what each client adds.")
    shed_note(wire)


def beside_sdk(options):
    """Saturated, and at a rate that the SDK holds on one core: a request costs the more, the fewer come together."""
    if not has_client_option(options):
        print("`--client sdk`: not built.\n", flush=True)
        return
    does = "(signs each request, unique keys, classifies, records)"

    def both(title, rates, note):
        wire = Candidate("wire", lambda: instrument(options, rates[0], "wire"), does)
        sdk = Candidate("--client sdk", lambda: instrument(options, rates[1], "sdk"), does, "<= 0.17x (6x cheaper)")
        compare(title, [wire, sdk], options.rounds, note)

    tools.say("saturated, beside the SDK: looking for the most that each holds")
    rates = [most(options, client) for client in ("wire", "sdk")]
    both("Cost per request beside the AWS SDK for Rust, saturated", rates,
         f"The same instrument with its other client. Each is offered slightly more than it holds on one core, {rates[0]:,}/s and "
         f"{rates[1]:,}/s; its CPU, that for what it sheds included, is divided by the requests that the server counted.")
    rate = min(options.rate, SDK_RATE)
    both(f"Cost per request beside the AWS SDK for Rust, paced at {rate:,}/s", [rate, rate],
         "The same with a core that is mostly idle: waking it for each batch of intents and each answer costs both clients the same, "
         "and more than wire's own work.")


def saturated(options, request):
    tools.say("saturated: looking for the most that wire holds")
    rate = most(options)
    wire = Candidate("wire", lambda: instrument(options, rate), "(signs each request, unique keys, classifies, records)")
    candidates = [wire]
    if options.wrk:
        candidates.append(Candidate("wrk", lambda: wrk(options, request), WRK_LACKS, "<= 1.7x"))
    if options.oha:
        candidates.append(Candidate("oha", lambda: oha(options, request), OHA_LACKS + ", closed loop"))
    compare("Cost per request, saturated", candidates, options.rounds,
            f"wire is offered {rate:,}/s, slightly more than it holds on one core; its CPU, that for what it sheds included, is divided "
            "by the requests that the server counted. wrk and oha send the next request when an answer comes.")
    shed_note(wire)
