"""Serves a small model on this machine: serve.py MODEL PORT [GRAMMAR].

A grammar fixes what is said, token by token, where a test has to know it. Prints READY once it listens.
"""

import sys
import time

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 4096
params.n_parallel = 1
params.port = int(sys.argv[2])
params.hostnames = ["127.0.0.1"]
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
if len(sys.argv) > 3:
    by_user = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
    params.sampling.grammar = xllamacpp.CommonGrammar(by_user, sys.argv[3])
server = xllamacpp.Server(params)
print("READY", server.listening_address, flush=True)
while True:
    time.sleep(3600)
