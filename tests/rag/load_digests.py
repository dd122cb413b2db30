#!/usr/bin/env python3
"""Loads every digest of a memory with LlamaIndex, as a person's RAG tool would: `load_digests.py MEMORY`.

Fails unless every `*_DIGEST.md` becomes documents with its id and its summary, and splits by its headings.
"""
import pathlib
import sys

from llama_index.core import SimpleDirectoryReader
from llama_index.core.node_parser import MarkdownNodeParser

memory = pathlib.Path(sys.argv[1])
digests = {str(path): path.name.removesuffix("_DIGEST.md") for path in sorted(memory.glob("**/*_DIGEST.md"))}
assert digests, f"no digest in {memory}"
# Without a reader of its own a file is one document of plain text, front matter and all.
documents = SimpleDirectoryReader(input_files=list(digests), file_extractor={}, errors="strict").load_data()
text = {}
for document in documents:
    path = document.metadata["file_path"]
    text[path] = text.get(path, "") + document.text
assert text.keys() == digests.keys(), f"{len(text)} of {len(digests)} digests were loaded"
for path, session in digests.items():
    assert f"session: {session}" in text[path] and "Semantic Summary" in text[path], path
nodes = MarkdownNodeParser().get_nodes_from_documents(documents)
for path in digests:
    parts = [node for node in nodes if node.metadata["file_path"] == path]
    assert any("Semantic Summary" in node.text.split("\n", 1)[0] for node in parts), path
    assert all(node.text.strip() for node in parts), path
print(f"{len(digests)} digests loaded, {len(nodes)} parts")
