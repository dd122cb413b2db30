#!/usr/bin/env python3
"""A mock of the model servers that coding agents talk to: `model.py LOG` serves on a free port of loopback, prints
`READY http://…`, and writes every request into LOG, one line of JSON each. It knows a few prompts, each with one
command for the agent's shell and the last words, and speaks Anthropic Messages, OpenAI Chat Completions and
Responses, and Gemini. What comes next follows from the conversation in the request alone."""
import json
import re
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Words of a prompt, the command that is run for it or the tool of our server that is called, and the last words.
SCRIPT = [
    ("ask the memory about the tides", ("search", {"query": "table of tides", "queries": ["tides.txt"]}), "The memory knows the table of tides."),
    ("note in the memory", ("remember", {"text": "The gauge at the pier is read twice a day"}), "The memory has the note."),
    ("take down my rule", ("remember", {"text": "Never round the height of a tide", "kind": "instruction"}), "The rule waits for your yes."),
    ("count the lines of tides.txt", "wc -l tides.txt", "The table of tides has three lines."),
    ("see how long the table is", "wc -l tides.txt", "The table has three lines."),
    ("look for the charts", "ls no-such-folder", "There are no charts; the table of tides is all there is."),
    ("what do you know of this project", None, "I know of a table of tides."),
]
SHELL = re.compile(r"^(bash|shell|execute|exec_command|shell_command|run_shell_command|run_terminal_cmd|.*shell.*|.*terminal.*)$", re.I)
# What some agents ask besides, such as a title for the session: they want words, and no tool.
ASIDE = re.compile(r"Do NOT call any tools|Call tools or invent content", re.I)
# Gemini hands our page on with its brackets spelt out.
OWN_PAGE = re.compile(r"(<|&lt;)memtree-context.*?/memtree-context(>|&gt;)", re.S)


def words(content):
    """The text of a message, whatever its form."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def conversation(body):
    """What was said and done: ("user", text), ("call", "") and, where tools were looked for, ("search", "")."""
    for message in body.get("messages") or []:
        content, role = message.get("content"), message.get("role")
        if role == "user" and words(content):
            yield "user", words(content)
        blocks = content if isinstance(content, list) else []
        for call in (message.get("tool_calls") or []) + [b for b in blocks if b.get("type") == "tool_use"]:
            yield "search" if call.get("name") == "ToolSearch" else "call", ""
    items = body.get("input") or []
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        if item.get("type", "message") == "message" and item.get("role") == "user":
            yield "user", words(item.get("content"))
        elif item.get("type") in ("function_call", "custom_tool_call"):
            yield "call", ""
        elif item.get("type") == "tool_search_call":
            yield "search", ""
    for content in body.get("contents") or []:
        for part in content.get("parts") or []:
            if "functionCall" in part:
                yield "call", ""
            elif content.get("role") != "model" and "text" in part:
                yield "user", part["text"]


def tools(body):
    """The tools that the agent offers: name → (schema of the arguments, kind). Those of a namespace have its name before
    theirs, with a dot between."""
    offered = list(body.get("tools") or [])
    inputs = body.get("input") if isinstance(body.get("input"), list) else []
    given = ("additional_tools", "tool_search_output")
    offered += [tool for item in inputs if item.get("type") in given for tool in item.get("tools") or []]
    found = {}
    for tool in offered:
        space = tool["name"] + "." if tool.get("type") == "namespace" else ""
        if tool.get("type") == "tool_search":
            found["tool_search"] = ({}, "tool_search")
        for one in tool.get("functionDeclarations") or tool.get("tools") or [tool.get("function") or tool]:
            schema = one.get("input_schema") or one.get("parametersJsonSchema") or one.get("parameters") or {}
            found[space + (one.get("name") or "")] = (schema, one.get("type"))
    return found


def arguments(schema, command):
    """Arguments for a shell tool: the command, and something for whatever else is required."""
    given = {}
    for name, kind in (schema.get("properties") or {}).items():
        is_list = kind.get("type") == "array"
        if name.lower() in ("command", "cmd"):
            given[name] = ["bash", "-c", command] if is_list else command
        elif name in (schema.get("required") or []):
            simple = {"boolean": False, "integer": 60, "number": 60, "array": [], "object": {}}
            given[name] = (kind.get("enum") or [simple.get(str(kind.get("type")).lower(), "as asked")])[0]
    return given


def tool_of_ours(offered, tool, given):
    """The name by which the agent offers a tool of our server, with its arguments; or its way to look for it."""
    name = next((name for name in offered if re.search(r"memtree.*[_.]%s$" % tool, name)), None)
    if name:
        return name, given
    if "ToolSearch" in offered:
        return "ToolSearch", {"query": "select:mcp__memtree__" + tool, "max_results": 5}
    if "tool_search" in offered:
        return "tool_search", {"query": "memtree " + tool, "limit": 20}
    return None, None


def next_step(body):
    """The words and, where a command is due, the tool with its arguments."""
    script, calls, searches, last = None, 0, 0, ""
    for kind, text in conversation(body):
        text = OWN_PAGE.sub("", text)
        found = next((line for line in SCRIPT if line[0] in text), None)
        if kind == "call":
            calls += 1
        elif kind == "search":
            searches += 1
        elif found:
            script, calls, searches = found, 0, 0
        last = text or last
    offered = tools(body)
    shell = next((name for name in offered if SHELL.match(name)), None)
    if script is None or not offered or ASIDE.search(last):
        return "A table of tides", None, None
    if script[1] is None or calls or searches > 1:
        return script[2] if searches < 2 else "The tool cannot be found.", None, None
    if isinstance(script[1], tuple):
        return ("I'll ask.", *tool_of_ours(offered, *script[1]))
    if any(name.rpartition(".")[2] == "exec" and kind == "custom" for name, (_, kind) in offered.items()):
        # Codex's code mode: one tool that runs JavaScript.
        code = "const r = await tools.exec_command(%s);\ntext(r.output ?? r);\n" % json.dumps({"cmd": script[1]})
        return "I'll look.", "exec", code
    return "I'll look.", shell, arguments(offered[shell][0], script[1]) if shell else None


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        names = ["claude-sonnet-4-5-20250929", "gpt-5.5", "gpt-6-sol", "gemini-2.5-pro", "mock"]
        models = [{"id": name, "name": "models/" + name, "object": "model", "type": "model"} for name in names]
        self.answer({"object": "list", "data": models, "models": models})

    do_HEAD = do_GET

    def do_POST(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            raw = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        with open(sys.argv[1], "a", encoding="utf-8") as log:
            log.write(json.dumps({"path": path, "body": body}, ensure_ascii=False) + "\n")
        step = next_step(body)
        if path.endswith("/messages"):
            self.speak_anthropic(body, *step)
        elif path.endswith("/chat/completions"):
            self.speak_chat(body, *step)
        elif path.endswith("/responses"):
            self.speak_responses(body, *step)
        elif "enerateContent" in path:
            self.speak_gemini(body, *step)
        else:
            self.answer({"input_tokens": 100, "totalTokens": 100})

    def answer(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def stream(self, events, named=False, end=""):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            name = "event: %s\n" % event["type"] if named else ""
            self.wfile.write(("%sdata: %s\n\n" % (name, json.dumps(event))).encode())
        self.wfile.write(end.encode())
        self.close_connection = True

    def speak_anthropic(self, body, say, tool, given):
        usage = {"input_tokens": 100, "output_tokens": 10}
        blocks = [{"type": "text", "text": say}]
        if tool:
            blocks.append({"type": "tool_use", "id": "toolu_" + uuid.uuid4().hex, "name": tool, "input": given})
        message = {"id": "msg_" + uuid.uuid4().hex, "type": "message", "role": "assistant", "model": body.get("model"),
                   "content": blocks, "stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            return self.answer(message)
        events = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}]
        for index, block in enumerate(blocks):
            is_text = block["type"] == "text"
            empty = {**block, "text": ""} if is_text else {**block, "input": {}}
            delta = {"type": "text_delta", "text": say} if is_text else {"type": "input_json_delta", "partial_json": json.dumps(given)}
            events += [{"type": "content_block_start", "index": index, "content_block": empty},
                       {"type": "content_block_delta", "index": index, "delta": delta},
                       {"type": "content_block_stop", "index": index}]
        delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        events += [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]
        self.stream(events, named=True)

    def speak_chat(self, body, say, tool, given):
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        message = {"role": "assistant", "content": say}
        if tool:
            function = {"name": tool, "arguments": json.dumps(given)}
            message["tool_calls"] = [{"index": 0, "id": "call_" + uuid.uuid4().hex, "type": "function", "function": function}]
        base = {"id": "chat-" + uuid.uuid4().hex, "created": 0, "model": body.get("model")}
        finish = "tool_calls" if tool else "stop"
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return self.answer({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        base["object"] = "chat.completion.chunk"
        self.stream([{**base, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                     {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
                     {**base, "choices": [], "usage": usage}], end="data: [DONE]\n\n")

    def speak_responses(self, body, say, tool, given):
        text = {"type": "output_text", "text": say, "annotations": []}
        items = [{"type": "message", "id": "msg_" + uuid.uuid4().hex, "status": "completed", "role": "assistant", "content": [text]}]
        call = {"id": "fc_" + uuid.uuid4().hex, "status": "completed", "call_id": "call_" + uuid.uuid4().hex, "name": tool}
        if tool and isinstance(given, str):
            items.append({**call, "type": "custom_tool_call", "input": given})
        elif tool == "tool_search":
            items.append({"type": "tool_search_call", "call_id": call["call_id"], "execution": "client", "status": "completed", "arguments": given})
        elif tool:
            space, _, name = tool.rpartition(".")
            call = {**call, "name": name, **({"namespace": space} if space else {})}
            items.append({**call, "type": "function_call", "arguments": json.dumps(given)})
        usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110}
        whole = {"id": "resp_" + uuid.uuid4().hex, "object": "response", "created_at": 0, "status": "completed",
                 "model": body.get("model"), "output": items, "usage": usage}
        if not body.get("stream"):
            return self.answer(whole)
        events = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}]
        for index, item in enumerate(items):
            events.append({"type": "response.output_item.added", "output_index": index, "item": item})
            if item["type"] == "message":
                events.append({"type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
                               "content_index": 0, "delta": say})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": whole})
        for number, event in enumerate(events):
            event["sequence_number"] = number
        self.stream(events, named=True)

    def speak_gemini(self, body, say, tool, given):
        parts = [{"text": say}] + ([{"functionCall": {"name": tool, "args": given}}] if tool else [])
        if "application/json" in json.dumps(body.get("generationConfig") or {}):
            # It is asked who speaks next, and how hard the task is.
            parts = [{"text": json.dumps({"reasoning": "", "next_speaker": "user", "model_choice": "pro"})}]
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
        whole = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
                 "usageMetadata": usage, "modelVersion": "gemini-2.5-pro"}
        self.stream([whole]) if "stream" in self.path else self.answer(whole)


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
server.daemon_threads = True
print("READY http://127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
