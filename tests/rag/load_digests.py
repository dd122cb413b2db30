#!/usr/bin/env python3
"""Loads every digest of a memory with LangChain, as a person's RAG tool would. Opt-in: it needs the network once.

  python3 -m venv /tmp/rag && /tmp/rag/bin/pip install langchain-community langchain-text-splitters
  /tmp/rag/bin/python tests/rag/load_digests.py MEMORY

Fails unless every `*_DIGEST.md` becomes one document with its id, its sections and text, and splits by its headings.
"""
import pathlib
import sys

from langchain_community.document_loaders import DirectoryLoader, TextLoader
from langchain_text_splitters import MarkdownHeaderTextSplitter

memory = pathlib.Path(sys.argv[1])
digests = sorted(memory.glob("**/*_DIGEST.md"))
loader = DirectoryLoader(str(memory), glob="**/*_DIGEST.md", loader_cls=TextLoader, loader_kwargs={"encoding": "utf-8"})
documents = loader.load()
assert digests, f"no digest in {memory}"
assert len(documents) == len(digests), f"{len(documents)} documents of {len(digests)} digests"
splitter = MarkdownHeaderTextSplitter([("#", "session"), ("##", "section")])
sections = 0
for document in documents:
    name = pathlib.Path(document.metadata["source"]).name.removesuffix("_DIGEST.md")
    parts = splitter.split_text(document.page_content)
    found = {part.metadata.get("section", "") for part in parts}
    assert any(name in part.metadata.get("session", "") for part in parts), name
    assert any("Semantic Summary" in section for section in found), (name, found)
    sections += len(parts)
print(f"{len(documents)} digests loaded, {sections} sections")
