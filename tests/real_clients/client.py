#!/usr/bin/env python3
"""Lists and calls every tool, resource and prompt of `memtree mcp` with the official Python client, whichever
version of it is installed: `client.py PROGRAM STORE`. Ends with 1 where something is wrong."""
import asyncio
import json
import sys
from contextlib import asynccontextmanager
from importlib.metadata import version

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM, STORE = sys.argv[1:3]
SERVER = StdioServerParameters(command=PROGRAM, args=["--store", STORE, "mcp", "--memory-tool"])
TOOLS = ["search", "recall", "context", "blame", "ask", "status", "remember", "annotate", "review", "memory"]
RULE = "Never rename a table of tides"


def same(what, found, expected):
    assert found == expected, f"{what}: {found!r} is not {expected!r}"


def field(value, *names):
    """A field that one version calls by one name and another by another."""
    return next(getattr(value, name) for name in names if hasattr(value, name))


@asynccontextmanager
async def handshake(answer):
    """The session of the handshake, which both versions have."""
    async with stdio_client(SERVER) as (read, write):
        async with ClientSession(read, write, elicitation_callback=answer) as session:
            await session.initialize()
            yield session


@asynccontextmanager
async def stateless(answer):
    """Version 2 asks the server which revision it speaks, and takes the newest."""
    from mcp import Client

    async with Client(SERVER, elicitation_callback=answer) as client:
        same("the revision", str(client.protocol_version), "2026-07-28")
        yield client


def answering(said):
    """A person who says this when asked; None for one who declines."""
    from mcp import types

    asked = []

    async def answer(_context, params):
        asked.append(params.message)
        if said is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content={"decision": said})

    return answer, asked


async def data(session, tool, arguments, fails=False):
    """What a tool answers; it has to be the same as text."""
    result = await session.call_tool(tool, arguments)
    text = result.content[0].text
    same(f"{tool} {arguments}: error ({text[:200]})", bool(field(result, "is_error", "isError")), fails)
    structured = field(result, "structured_content", "structuredContent")
    if fails or structured is None:
        return text
    same(f"{tool}: text", json.loads(text), structured)
    return structured


async def tools(session):
    listed = (await session.list_tools()).tools
    same("tools", [tool.name for tool in listed], TOOLS)
    for tool in listed:
        hints = tool.annotations
        assert hints.title and field(hints, "read_only_hint", "readOnlyHint") is not None, tool.name
    found = await data(session, "search", {"query": "EWOULDBLOCK lock", "queries": ["two writers at once"]})
    reference = found["hits"][0]["ref"]
    name = reference.split("#")[0]
    assert (await data(session, "recall", {"ref": reference, "budget": 300}))["text"]
    assert (await data(session, "context", {"project": "tidepool"}))["text"]
    assert "note" in await data(session, "blame", {"file": "src/day.rs"})
    assert (await data(session, "ask", {"question": "why did the append fail?"}))["answer"]
    same("sessions", (await data(session, "status", {}))["sessions"], 10)
    noted = await data(session, "remember", {"text": "The gauge is read twice a day", "session": name})
    same("pages with the note", len(noted["paths"]), 2)
    line = {"kind": "lesson", "episode": "EP_001", "text": "It was the moon", "quote": "it was the moon all along"}
    same("kept lines", (await data(session, "annotate", {"session": name, "lines": [line]}))["kept"], 0)
    waits = await data(session, "remember", {"text": RULE, "kind": "instruction"})
    assert waits["waits"].startswith("instruction-"), waits
    assert "hint:" in await data(session, "search", {}, fails=True)


async def memory(session):
    path = "/memories/client.md"
    for arguments, says in [
        ({"command": "create", "path": path, "file_text": "one\n"}, f"File created successfully at: {path}"),
        ({"command": "insert", "path": path, "insert_line": 1, "insert_text": "two"}, f"The file {path} has been edited."),
        ({"command": "view", "path": path}, f"Here's the content of {path} with line numbers:\n     1\tone\n     2\ttwo\n     3\t"),
        ({"command": "delete", "path": path}, f"Successfully deleted {path}"),
    ]:
        same(arguments["command"], await data(session, "memory", arguments), says)
    await data(session, "memory", {"command": "view", "path": "/memories/../memtree.toml"}, fails=True)


async def pages(session):
    resources = (await session.list_resources()).resources
    assert len(resources) > 10, resources
    for resource in resources:
        read = await session.read_resource(resource.uri)
        assert read.contents[0].text, resource.uri
    templates = await session.list_resource_templates()
    same("templates", len(field(templates, "resource_templates", "resourceTemplates")), 4)
    prompts = (await session.list_prompts()).prompts
    same("prompts", [prompt.name for prompt in prompts], ["recall_about", "handoff", "curate"])
    session_name = next(str(r.uri).split("/")[-1] for r in resources if "/session/" in str(r.uri))
    for name, arguments in [("recall_about", {"topic": "the day lock"}), ("handoff", {"session": session_name}), ("curate", {"session": session_name})]:
        prompt = await session.get_prompt(name, arguments)
        assert prompt.messages[0].content.text, name


async def reviewed(connect):
    """Who declines has decided nothing; who says no has."""
    async def proposed(said):
        answer, asked = answering(said)
        async with connect(answer) as session:
            items = (await data(session, "review", {}))["items"]
            item = next(one["item"] for one in items if one["title"] == RULE)
            arguments = {"item": item, "decision": "yes", "reason": "The person said so"}
            done = await data(session, "review", arguments)
        assert RULE in asked[0] and len(asked) == 1, asked
        return done

    same("declined", (await proposed(None))["decided"], False)
    done = await proposed("no")
    same("decided", (done["decided"], done["decision"]), (True, "no"))


async def everything(connect, review):
    async with connect(answering(None)[0]) as session:
        await tools(session)
        await memory(session)
        await pages(session)
    if review:
        await reviewed(connect)


async def main():
    newest = version("mcp").split(".")[0] != "1"
    await everything(handshake, review=not newest)
    if newest:
        await everything(stateless, review=True)
    print(f"  ok     mcp {version('mcp')} of PyPI{', by handshake and stateless' if newest else ''}")


asyncio.run(main())
