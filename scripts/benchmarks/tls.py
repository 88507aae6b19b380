"""CPU per request over TLS, beside plain. The certificates are made for the occasion and trusted by the child alone."""

import os
import shutil
import subprocess
import tempfile

import tools
from cost import Candidate, compare, instrument


class Certificates:
    """A root, and a server's certificate for 127.0.0.1 signed by it."""

    def __init__(self, directory):
        self.roots, self.chain, self.key = (os.path.join(directory, name) for name in ("root.pem", "server.pem", "server.key"))
        root_key, request, extensions = (os.path.join(directory, name) for name in ("root.key", "server.csr", "extensions"))
        with open(extensions, "w", encoding="utf-8") as file:
            file.write("basicConstraints=critical,CA:FALSE\nsubjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl("req", "-x509", *curve, "-keyout", root_key, "-out", self.roots, "-days", "2", "-subj", "/CN=bench root",
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
        openssl("req", *curve, "-keyout", self.key, "-out", request, "-subj", "/CN=127.0.0.1")
        openssl("x509", "-req", "-in", request, "-CA", self.roots, "-CAkey", root_key, "-CAcreateserial", "-out", self.chain,
                "-days", "2", "-extfile", extensions)


def openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"openssl {arguments[0]} failed: {done.stdout}")


def run(options):
    if not shutil.which("openssl"):
        tools.say("openssl is not installed; the section tls is left out")
        return
    with tempfile.TemporaryDirectory() as directory:
        certificates = Certificates(directory)
        trust = {"SSL_CERT_FILE": certificates.roots}
        signs = "(signs each request, unique keys, classifies, records)"
        compare(f"Cost per request over TLS, paced at {options.rate:,}/s", [
            Candidate("wire over TLS", lambda: instrument(options, options.rate, environment=trust, tls=certificates), signs),
            Candidate("wire, plain", lambda: instrument(options, options.rate), signs, "the ratio is the figure"),
        ], options.rounds, "The server is the do-nothing server with rustls; TLS 1.3, connections kept.")
