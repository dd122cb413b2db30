"""Serves a real embeddings model on this machine: serve.py MODEL_FOLDER PORT.

The model is all-MiniLM-L6-v2 (a BERT of six layers, 384 dimensions), as its safetensors and its vocabulary lie in a folder.
Its forward pass stands here in numpy, so that nothing else has to be installed. Answers `POST /v1/embeddings` as OpenAI's
protocol has it, and prints READY and its address once it listens.
"""

import http.server
import json
import pathlib
import struct
import sys
import unicodedata

import numpy

LONGEST = 256
HEADS = 12
BATCH = 16


def read_weights(path):
    """The tensors of a safetensors file, by name."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = json.loads(data[8 : 8 + length])
    tensors.pop("__metadata__", None)
    body, kinds = memoryview(data)[8 + length :], {"F32": "<f4", "I64": "<i8"}
    return {
        name: numpy.frombuffer(body[slice(*one["data_offsets"])], kinds[one["dtype"]]).reshape(one["shape"])
        for name, one in tensors.items()
    }


class Tokenizer:
    """BERT's own: lower case, no accents, punctuation apart, then the longest pieces that the vocabulary has."""

    def __init__(self, vocabulary):
        words = vocabulary.read_text(encoding="utf-8").split("\n")
        self.ids = {word: at for at, word in enumerate(words) if word}
        self.known = {}

    def words(self, text):
        word = ""
        for char in unicodedata.normalize("NFD", text.lower()):
            kind = unicodedata.category(char)
            if kind == "Mn":
                continue
            apart = kind[0] in "PS" or "\u4e00" <= char <= "\u9fff"
            if apart or char.isspace() or kind[0] == "C":
                if word:
                    yield word
                word = ""
                if apart:
                    yield char
            else:
                word += char
        if word:
            yield word

    def pieces(self, word):
        if word not in self.known:
            self.known[word] = self.split(word)
        return self.known[word]

    def split(self, word):
        found, start = [], 0
        while start < len(word) <= 100:
            ends = range(len(word), start, -1)
            marked = (("##" if start else "") + word[start:end] for end in ends)
            at, piece = next(((end, self.ids[one]) for end, one in zip(ends, marked) if one in self.ids), (0, None))
            if piece is None:
                return [self.ids["[UNK]"]]
            found.append(piece)
            start = at
        return found or [self.ids["[UNK]"]]

    def encode(self, text):
        ids = [self.ids["[CLS]"]]
        for word in self.words(text):
            ids += self.pieces(word)
            if len(ids) >= LONGEST:
                break
        return ids[: LONGEST - 1] + [self.ids["[SEP]"]]


class Model:
    def __init__(self, folder):
        self.weights = read_weights(folder / "model.safetensors")
        self.tokenizer = Tokenizer(folder / "vocab.txt")
        self.layers = 1 + max(int(name.split(".")[2]) for name in self.weights if name.startswith("encoder.layer."))

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def embed(self, texts):
        """The vectors of some texts, and how many tokens they have."""
        ids = [self.tokenizer.encode(text) for text in texts]
        order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
        vectors = [None] * len(ids)
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            for at, vector in zip(chosen, self.forward([ids[at] for at in chosen])):
                vectors[at] = vector
        return vectors, sum(map(len, ids))

    def forward(self, batch):
        longest = max(map(len, batch))
        ids = numpy.zeros((len(batch), longest), "i8")
        mask = numpy.zeros((len(batch), longest), "f4")
        for row, one in enumerate(batch):
            ids[row, : len(one)], mask[row, : len(one)] = one, 1
        of = "embeddings."
        x = self.weights[of + "word_embeddings.weight"][ids]
        x = x + self.weights[of + "position_embeddings.weight"][:longest]
        x = self.norm(x + self.weights[of + "token_type_embeddings.weight"][0], of + "LayerNorm")
        hidden = (1 - mask)[:, None, None, :] * numpy.float32(-1e9)
        for number in range(self.layers):
            x = self.layer(x, f"encoder.layer.{number}.", hidden)
        mean = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return mean / numpy.linalg.norm(mean, axis=1, keepdims=True)

    def layer(self, x, name, hidden):
        rows, length, size = x.shape

        def heads(part):
            y = self.linear(x, f"{name}attention.self.{part}")
            return y.reshape(rows, length, HEADS, size // HEADS).transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / numpy.float32(numpy.sqrt(size // HEADS)) + hidden
        scores = numpy.exp(scores - scores.max(-1, keepdims=True))
        seen = (scores / scores.sum(-1, keepdims=True)) @ heads("value")
        seen = seen.transpose(0, 2, 1, 3).reshape(rows, length, size)
        x = self.norm(x + self.linear(seen, name + "attention.output.dense"), name + "attention.output.LayerNorm")
        inner = gelu(self.linear(x, name + "intermediate.dense"))
        return self.norm(x + self.linear(inner, name + "output.dense"), name + "output.LayerNorm")


def gelu(x):
    """By the tanh that stands for the error function, which numpy lacks: the same to three digits."""
    return 0.5 * x * (1 + numpy.tanh(numpy.float32(0.7978845608) * (x + numpy.float32(0.044715) * x * x * x)))


def serve(folder, port):
    model = Model(pathlib.Path(folder))

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
            vectors, tokens = model.embed(texts)
            data = [{"object": "embedding", "index": at, "embedding": [float(x) for x in vector]} for at, vector in enumerate(vectors)]
            usage = {"prompt_tokens": tokens, "total_tokens": tokens}
            body = json.dumps({"object": "list", "model": asked["model"], "data": data, "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print("READY", f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
