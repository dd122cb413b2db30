#!/usr/bin/env python3
"""Counts prompts, replies, tool calls, tokens and cost in agents' logs a second time, and compares with memtree.

  independent_count.py --memtree target/release/memtree claude=DIR codex=DIR kilo=DIR … [--sessions 5]

Agents: claude, codex, copilot, opencode, kilo, omp, antigravity, kimi, droid, cline, roo.

Each folder is swept into a fresh memory; of each agent the first sessions with at least one prompt are counted
again by the few lines below, which share nothing with the adapters, and compared with `state/vitals.yaml`.
Standard library only. Exits 1 on any difference.
"""
import argparse, collections, glob, json, os, re, subprocess, sys, tempfile

NOT_A_PROMPT = ("<command-", "<local-command", "Caveat:", "<system-reminder>", "<task-notification>", "<bash-",
                "[Request interrupted", '{"task_id"')
INJECTED = ("<environment_context", "# AGENTS.md", "<user_instructions", "<turn_aborted", "<skill", "<permissions")


def records(path):
    for line in open(path, "rb").read().split(b"\n"):
        if line.strip():
            try:
                yield json.loads(line.decode("utf-8", "replace"))
            except ValueError:
                pass


def claude(paths):
    count, usage, seen, queue, told = collections.Counter(), {}, set(), [], set()
    for path in paths:
        side_file = os.path.basename(path).startswith("agent-")
        for r in records(path):
            if r.get("uuid") in seen and r.get("uuid"):
                continue
            seen.add(r.get("uuid"))
            side, message = side_file or r.get("isSidechain"), r.get("message") or {}
            content = message.get("content") or []
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if r.get("type") == "assistant":
                if message.get("model") not in (None, "<synthetic>") and message.get("usage"):
                    usage[message.get("id"), r.get("requestId")] = message["usage"]
                for b in blocks:
                    count["calls"] += b.get("type") == "tool_use"
                    said = b.get("type") == "text" and b["text"].strip()
                    count["replies"] += bool(said and not side and not r.get("isApiErrorMessage"))
            elif r.get("type") == "queue-operation":
                if r["operation"] == "enqueue":
                    queue.append(r.get("content") or "")
                elif r["operation"] == "popAll":
                    queue.clear()
                elif queue:
                    text = queue.pop(0).strip()
                    if r["operation"] == "remove" and text and not text.startswith(NOT_A_PROMPT):
                        count["prompts"] += 1
                        told.add(text)
            elif r.get("type") == "user" and not side and not r.get("isMeta") and not r.get("isCompactSummary"):
                text = "\n".join(b.get("text", "") for b in blocks if b.get("type") == "text")
                text = re.sub(r"<(system-reminder|ide_\w+)>.*?</\1>", "", text, flags=re.S).strip()
                if text and not text.startswith(NOT_A_PROMPT) and text not in told:
                    count["prompts"] += 1
    for u in usage.values():
        for ours, theirs in (("input", "input_tokens"), ("output", "output_tokens"),
                             ("cache_read", "cache_read_input_tokens"), ("cache_write", "cache_creation_input_tokens")):
            count[ours] += u.get(theirs) or 0
    return count


def codex(paths):
    count, total = collections.Counter(), None
    lines = [r for path in paths for r in records(path)]
    told = any((r.get("payload") or {}).get("type") == "user_message" or ((r.get("payload") or {}).get("item") or {}).get("type")
               == "UserMessage" for r in lines)
    ids = {(r.get("payload") or {}).get("call_id") for r in lines}
    running, done = {}, 0  # scripts, and how many calls of each were told by items
    for r in lines:
        p = r.get("payload") or {}
        kind = p.get("type")
        item = (p.get("item") or {}) if kind == "item_completed" else {}
        if item.get("type") == "UserMessage":
            text = "\n".join(c.get("text") or "" for c in item["content"])
            count["prompts"] += not text.startswith(INJECTED)
        elif item.get("type") in ("CommandExecution", "FileChange", "McpToolCall", "DynamicToolCall"):
            if item["id"] not in ids and item.get("source") != "user_shell":
                count["calls"] += 1
                done += 1
        elif kind == "custom_tool_call" and p["name"] == "exec":
            running[p["call_id"]], done = True, 0
        elif kind == "custom_tool_call_output" and p["call_id"] in running:
            count["calls"] += done == 0
        elif kind == "user_message":
            count["prompts"] += not p["message"].startswith(INJECTED)
        elif r.get("type") == "response_item" and kind == "message":
            text = "".join(c.get("text") or "" for c in p["content"])
            count["replies"] += p["role"] == "assistant" and bool(text.strip())
            count["prompts"] += p["role"] == "user" and not told and not text.startswith(INJECTED)
        elif r.get("type") == "response_item":
            count["calls"] += kind in ("function_call", "custom_tool_call", "local_shell_call", "web_search_call",
                                       "tool_search_call")
        elif kind == "token_count" and (p.get("info") or {}).get("total_token_usage"):
            total = p["info"]["total_token_usage"]
    if total:
        cached = total.get("cached_input_tokens", 0)
        count.update(input=total["input_tokens"] - cached, output=total["output_tokens"], cache_read=cached)
    return count


def copilot(paths):
    count, output, ended = collections.Counter(), 0, False
    for r in (r for path in paths if path.endswith(".jsonl") for r in records(path)):
        data = r["data"]
        if r.get("agentId") or data.get("parentToolCallId"):  # a subagent's: only its calls are counted
            count["calls"] += len(data.get("toolRequests") or [])
        elif r["type"] == "user.message":
            count["prompts"] += bool(data["content"].strip())
        elif r["type"] == "assistant.message":
            count["replies"] += bool(data["content"].strip())
            count["calls"] += len(data.get("toolRequests") or [])
            output += data.get("outputTokens") or 0
        elif r["type"] == "session.shutdown":
            ended = True
            count.update({key: -count[key] for key in ("input", "output", "cache_read", "cache_write")})  # the last one counts
            for u in (m["usage"] for m in data["modelMetrics"].values()):
                count["input"] += u["inputTokens"] - u["cacheReadTokens"] - u["cacheWriteTokens"]
                count["output"] += u["outputTokens"]
                count["cache_read"] += u["cacheReadTokens"]
                count["cache_write"] += u["cacheWriteTokens"]
    if not ended:
        count["output"] = output
    return count


def opencode(paths):
    if paths[0].endswith(".rows.jsonl"):
        return kilo(paths)
    count, document = collections.Counter(), json.load(open(paths[0], encoding="utf-8"))
    for m in document["messages"]:
        info, parts = m["info"], m["parts"]
        if info["role"] == "user":
            count["prompts"] += any(p["type"] == "subtask" or p["type"] == "text" and not p.get("synthetic") for p in parts)
            continue
        tokens = info["tokens"]
        count.update(input=tokens["input"], output=tokens["output"], cache_read=tokens["cache"]["read"],
                     cache_write=tokens["cache"]["write"])
        count["cost"] += info["cost"]
        for p in parts:
            count["replies"] += p["type"] == "text" and bool(p["text"].strip())
            count["calls"] += p["type"] == "tool"
    return count


def is_child(path):
    """Whether a file is a subagent's: in a folder of its own beside the session's, or called otherwise than it."""
    within = path.split("/raw/", 1)[1].split("/")
    return len(within) > 1 or within[0].endswith(".messages.json") and within[0] != session_file(path)


def session_file(path):
    documents = [f for f in os.listdir(os.path.dirname(path)) if f.endswith(".json")]
    manifests = [f for f in documents if f[:-5] + ".messages.json" in documents]
    return manifests[0][:-5] + ".messages.json" if manifests else os.path.basename(path)


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(b if isinstance(b, str) else b.get("text") or "" for b in content or [])


def without(text, *tags):
    return re.sub(r"<(%s)\b.*?</\1>" % "|".join(tags), "", text, flags=re.S).strip()


def tokens(count, used, names, cached=False):
    values = [used.get(name) or 0 for name in names]
    if cached:
        values[0] -= values[2] + values[3]
    for key, value in zip(("input", "output", "cache_read", "cache_write"), values):
        count[key] += value


def kilo(paths):
    count = collections.Counter()
    for path in paths:
        rows = [r for r in records(path) if "table" in r]
        parts = collections.defaultdict(list)
        for r in rows:
            if r["table"] == "part":
                parts[r["row"]["message_id"]].append(json.loads(r["row"]["data"]))
        for r in rows:
            if r["table"] != "message":
                continue
            info, mine = json.loads(r["row"]["data"]), parts[r["row"]["id"]]
            if info["role"] == "user":
                typed = any(p["type"] == "text" and not p.get("synthetic") for p in mine)
                count["prompts"] += typed and not is_child(path)
                continue
            used = info["tokens"]
            tokens(count, {**used, **used["cache"]}, ("input", "output", "read", "write"))
            count["cost"] += info.get("cost") or 0
            for p in mine:
                count["replies"] += p["type"] == "text" and bool(p["text"].strip()) and not is_child(path)
                count["calls"] += p["type"] == "tool"
    return count


def omp(paths):
    count = collections.Counter()
    for path in paths:
        for r in records(path):
            message = r.get("message") or {}
            content, used = message.get("content") or [], message.get("usage") or {}
            if r["type"] in ("usage", "model_usage"):
                used = r["usage"]
            if message.get("role") == "user":
                count["prompts"] += bool(text_of(content).strip()) and not is_child(path)
            elif message.get("role") == "assistant":
                count["calls"] += sum(b["type"] == "toolCall" for b in content)
                said = sum(b["type"] == "text" and bool(b["text"].strip()) for b in content)
                count["replies"] += 0 if is_child(path) else said
            tokens(count, used, ("input", "output", "cacheRead", "cacheWrite"))
    return count


def antigravity(paths):
    count, asked, answered = collections.Counter(), 0, 0
    for r in (r for path in paths if path.endswith(".jsonl") for r in records(path)):
        kind = r.get("type", "PLANNER_RESPONSE" if r["source"] == "MODEL" else "USER_INPUT")
        count["prompts"] += r["source"] == "USER_EXPLICIT"
        if (r["source"], kind) == ("MODEL", "PLANNER_RESPONSE"):
            count["replies"] += bool((r.get("content") or "").strip())
            asked += len(r.get("tool_calls") or [])
        elif r["source"] == "MODEL":
            answered += 1
    count["calls"] = max(asked, answered)
    return count


def kimi(paths):
    count = collections.Counter()
    for path in (p for p in paths if p.endswith(".jsonl") and not p.endswith("/context.jsonl")):
        lines, saying, waiting = list(records(path)), "", {}
        if any(isinstance(r.get("message"), dict) and "payload" in r["message"] for r in lines):
            raise ValueError("kimi-cli")
        told = any(r["type"] == "turn.prompt" and r.get("input") for r in lines)
        recorded = False
        for r in lines + [{"type": "end", "event": {"type": "end"}}]:
            event, message = r.get("event") or {}, r.get("message") or {}
            origin = (r.get("origin") or message.get("origin") or {"kind": "user"})
            typed = origin["kind"] == "user" or origin.get("trigger") == "user-slash"
            if r["type"] in ("turn.prompt", "turn.steer") and told or r["type"] == "context.append_message" and not told:
                count["prompts"] += typed and message.get("role", "user") == "user" and not is_child(path)
            if event.get("type") == "content.part" and event["part"]["type"] == "text":
                saying += event["part"]["text"]
            elif event:
                count["replies"] += bool(saying.strip()) and not is_child(path)
                count["calls"] += event["type"] == "tool.call"
                saying = ""
            if message.get("role") == "assistant" and r["type"] == "context.append_message":
                count["replies"] += bool(text_of(message["content"]).strip()) and not is_child(path)
                count["calls"] += len(message.get("toolCalls") or [])
            # A step's usage counts where it is not recorded by itself, before or behind it.
            used = {}
            if r["type"] == "usage.record":
                used, waiting, recorded = r.get("usage") or {}, {}, True
            elif event.get("type") in ("step.begin", "end"):
                used, waiting, recorded = waiting, {}, False
            elif event.get("type") == "step.end" and not recorded:
                waiting = event.get("usage") or {}
            names = ("inputOther", "output", "inputCacheRead", "inputCacheCreation")
            tokens(count, used, names)
    return count


def droid(paths):
    count = collections.Counter()
    for path in paths:
        if path.endswith(".settings.json"):
            used = json.load(open(path)).get("tokenUsage") or {}
            tokens(count, used, ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens"))
            continue
        for r in (r for r in records(path) if r["type"] == "message"):
            content, role = r["message"]["content"], r["message"]["role"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts = [without(b["text"], "system-reminder") for b in blocks if b["type"] == "text"]
            typed = role == "user" and any(texts) and not r["id"].startswith("context-")
            count["prompts"] += typed and not is_child(path)
            count["replies"] += 0 if role == "user" or is_child(path) else sum(map(bool, texts))
            count["calls"] += sum(b["type"] == "tool_use" for b in blocks)
    return count


def cline(paths):
    if any(p.endswith("api_conversation_history.json") for p in paths):
        return roo(paths)
    count = collections.Counter()
    for path in (p for p in paths if p.endswith(".messages.json")):
        for m in json.load(open(path))["messages"]:
            content = m["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts = [without(b["text"], "SYSTEM_NOTICE") for b in blocks if b["type"] == "text"]
            own = not is_child(path)
            count["prompts"] += own and m["role"] == "user" and any(texts)
            count["replies"] += sum(map(bool, texts)) if own and m["role"] == "assistant" else 0
            count["calls"] += sum(b["type"] == "tool_use" for b in blocks)
            names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
            tokens(count, m.get("metrics") or {}, names, cached=True)
    return count


def roo(paths):
    count, screens = collections.Counter(), [p for p in paths if p.endswith("ui_messages.json")]
    for path in (p for p in paths if p.endswith("api_conversation_history.json")):
        for m in json.load(open(path)):
            blocks = [{"type": "text", "text": m["content"]}] if isinstance(m["content"], str) else m["content"]
            text = "\n".join(b.get("text") or text_of(b.get("content")) for b in blocks)
            if m["role"] == "user":
                own = re.search(r"<(task|feedback|answer|user_message)>", text) or text[:1] not in "[<"
                count["prompts"] += bool(own) and not is_child(path)
                continue
            spoken = re.split(r"(?m)^<((?:\w+_)+(?:command|file|diff|files|task|completion))>$", without(text, "thinking"))
            ends = sum(name == "attempt_completion" for name in spoken[1::2])
            count["calls"] += len(spoken[1::2]) - ends + sum(b["type"] == "tool_use" for b in blocks)
            said = bool(spoken[0].strip() and spoken[0].strip()[0] != "<") + ends
            count["replies"] += 0 if is_child(path) else said
    requests = [json.loads(m["text"]) for p in screens for m in json.load(open(p)) if m.get("say") == "api_req_started"]
    summaries = [json.load(open(p)) for p in paths if p.endswith("history_item.json")]
    for used in requests or summaries:
        tokens(count, used, ("tokensIn", "tokensOut", "cacheReads", "cacheWrites"))
    return count


def is_lesser(path):
    """A subagent's file, whose prompts and replies are not the session's; or one that a later one replaced."""
    return "/raw/subagent-" in path or "/raw/earlier-" in path


def vibe(paths):
    count, stores, lines = collections.Counter(), {}, [p for p in paths if p.endswith("messages.jsonl")]
    for path in lines or [p for p in paths if p.endswith("transcript.jsonl")]:
        for m in records(path):
            count["prompts"] += m["role"] == "user" and not m.get("injected")
            count["replies"] += m["role"] == "assistant" and bool((m.get("content") or "").strip())
            count["calls"] += len(m.get("tool_calls") or [])
    for path in paths:
        store = path.split("/chunks/")[0].split("/journal/")[0].split("/generations/")[0]
        entries, used = stores.setdefault(store, ({}, {}))
        if "/chunks/" in path:
            entries.update((e["id"], e) for e in json.load(open(path)))
        elif "/journal/" in path:
            for change in (c for r in records(path) for c in r["payload"].get("delta") or []):
                if "entry" in change:
                    entries[change["entry"]["id"]] = change["entry"]
                else:
                    used.update(change["state"]["session"].get("tokenUsage") or {})
        elif path.endswith("meta.json") and lines:
            stats = json.load(open(path)).get("stats") or {}
            count.update(input=stats.get("session_prompt_tokens", 0), output=stats.get("session_completion_tokens", 0))
    for path in sorted(p for p in paths if p.endswith("projection-state.json")):
        newest = json.load(open(path))["snapshot"]["session"].get("tokenUsage") or {}
        used = stores[path.split("/generations/")[0]][1]
        if newest.get("inputTokens", 0) > used.get("inputTokens", 0):
            used.update(newest)
    for store, (entries, used) in stores.items():
        for e in entries.values():
            text = "".join(c.get("text", "") for c in e.get("content") or []).strip()
            own = e["type"] == "message" and text and not is_lesser(store + "/")
            count["prompts"] += bool(own) and e["role"] == "user" and e.get("source") != "harness"
            count["replies"] += bool(own) and e["role"] == "assistant"
            count["calls"] += e["type"] == "effect"
        cached = used.get("cachedInputTokens", 0)
        count.update(input=used.get("inputTokens", 0) - cached, output=used.get("outputTokens", 0), cache_read=cached)
    return count


def continue_(paths):
    count = collections.Counter()
    for path in (p for p in paths if not p.endswith("/sessions.json") and not is_lesser(p)):
        for m in (item["message"] for item in json.load(open(path))["history"]):
            content = m.get("content") or ""
            text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
            count["prompts"] += m["role"] == "user" and bool(text.strip())
            count["replies"] += m["role"] == "assistant" and bool(text.strip())
            count["calls"] += len(m.get("toolCalls") or [])
            used = m.get("usage") or {}
            cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
            count.update(input=used.get("prompt_tokens", 0) - cached, output=used.get("completion_tokens", 0), cache_read=cached)
    return count


globals()["continue"] = continue_


def kiro(paths):
    count = collections.Counter()
    for path in (p for p in paths if p.endswith(".jsonl") and not p.endswith(".rows.jsonl")):
        for r in records(path):
            blocks = r["data"].get("content") or []
            said = any(b["kind"] == "text" and b["data"].strip() for b in blocks) and not is_lesser(path)
            count["prompts"] += r["kind"] == "Prompt" and said
            count["calls"] += sum(b["kind"] == "toolUse" for b in blocks)
            if r["kind"] == "AssistantMessage" and not is_lesser(path):
                count["replies"] += sum(b["kind"] == "text" and bool(b["data"].strip()) for b in blocks)
    for path in (p for p in paths if p.endswith(".json")):
        metadata = json.load(open(path))["session_state"]["conversation_metadata"]
        for turn in metadata["user_turn_metadatas"]:
            count.update(input=turn["input_token_count"], output=turn["output_token_count"])
    return count


def hermes(paths):
    count = collections.Counter()
    for path in paths:
        models = list(rows([path], "session_model_usage")) or list(rows([path], "sessions"))
        for used in models:
            count.update({ours: used.get(theirs) or 0 for ours, theirs in (
                ("input", "input_tokens"), ("output", "output_tokens"), ("cache_read", "cache_read_tokens"),
                ("cache_write", "cache_write_tokens"))})
        for m in rows([path], "messages"):
            text = (m.get("content") or "").strip()
            count["calls"] += len(json.loads(m.get("tool_calls") or "[]"))
            if text and not is_lesser(path):
                machine = text.startswith(("[ASYNC", "[Continuing", "[CONTEXT", "[System")) or m.get("observed")
                count["prompts"] += m["role"] == "user" and not machine
                count["replies"] += m["role"] == "assistant"
    return count


def dsh(paths):
    count = collections.Counter()
    for path in paths:
        for r in records(path):
            data = r.get("data") or {}
            if r["type"] == "user/message" and not is_lesser(path):
                count["prompts"] += (data.get("source") or {}).get("kind", "user") == "user"
            elif r["type"] == "assistant/message":
                blocks = (data.get("message") or {}).get("content") or data.get("content") or []
                said = sum(b["type"] == "text" and bool(b["text"].strip()) for b in blocks)
                count["replies"] += 0 if is_lesser(path) else said
                used = data.get("usage") or {}
                count.update(input=used.get("inputTokens", 0), output=used.get("outputTokens", 0),
                             cache_read=used.get("cacheReadTokens", 0))
            count["calls"] += r["type"] in ("tool/call", "tool/code-dispatch-start")
    return count


def crush(paths):
    count = collections.Counter()
    for path in paths:
        for m in rows([path], "messages"):
            parts = [(p["type"], p["data"]) for p in json.loads(m["parts"])]
            count["calls"] += sum(kind == "tool_call" for kind, _ in parts)
            texts = sum(kind == "text" and not d.get("hidden") and bool(d["text"].strip()) for kind, d in parts)
            if not is_lesser(path) and not m.get("is_summary_message"):
                count["prompts"] += m["role"] == "user" and texts > 0
                count["replies"] += texts if m["role"] == "assistant" else 0
    return count


def zed(paths):
    count = collections.Counter()
    for path in paths:
        for thread in (json.loads(row["data"]) for row in rows([path], "threads")):
            used = thread.get("cumulative_token_usage") or {}
            count.update(input=used.get("input_tokens", 0), output=used.get("output_tokens", 0),
                         cache_read=used.get("cache_read_input_tokens", 0))
            for m in (m for m in thread["messages"] if isinstance(m, dict)):
                own = not is_lesser(path)
                parts = (m.get("Agent") or {}).get("content", []) if "role" not in m else m["segments"]
                said = sum(bool((p.get("Text") or (p.get("type") == "text" and p["text"]) or "").strip()) for p in parts)
                count["prompts"] += own and ("User" in m or m.get("role") == "user")
                count["replies"] += said if own and ("Agent" in m or m.get("role") == "assistant") else 0
                count["calls"] += sum("ToolUse" in p for p in parts) + len(m.get("tool_uses") or [])
    return count


def vscode(paths):
    count = collections.Counter()
    for path in (p for p in paths if p.endswith(".json") and not p.endswith("workspace.json")):
        for r in json.load(open(path))["requests"]:
            metadata = (r.get("result") or {}).get("metadata") or {}
            rounds = metadata.get("toolCallRounds") or []
            count["prompts"] += bool(r["message"]["text"].strip())
            count["replies"] += sum(bool(x["response"].strip()) for x in rounds)
            count["calls"] += sum(len(x["toolCalls"]) for x in rounds)
            count.update(input=metadata.get("promptTokens", 0), output=metadata.get("outputTokens", 0))
            said = ""
            for item in [] if rounds else r["response"]:
                if item.get("kind") == "toolInvocationSerialized":
                    count["replies"] += bool(said.strip())
                    count["calls"] += 1
                    said = ""
                elif not item.get("kind"):
                    said += item["value"]
            count["replies"] += bool(said.strip())
    return count


def gemini(paths):
    count = collections.Counter()
    for path in paths:
        is_child, last = os.path.dirname(path).split("/")[-1] not in ("raw", "chats"), {}
        lines = list(records(path))
        told = {r["id"]: r for r in lines if r.get("type") and r.get("id")}
        for r in lines:  # a list of messages counts only for those that have no line of their own
            last.update({m["id"]: m for m in (r.get("$set") or {}).get("messages") or []})
        last.update(told)
        for m in last.values():
            text = m["content"] if isinstance(m["content"], str) else "".join(p.get("text", "") for p in m["content"])
            if m["type"] == "gemini":
                count["replies"] += bool(text.strip()) and not is_child
                count["calls"] += len(m.get("toolCalls") or [])
                t = m.get("tokens") or {}
                count.update(input=t.get("input", 0) - t.get("cached", 0) + t.get("tool", 0), cache_read=t.get("cached", 0),
                             output=t.get("output", 0) + t.get("thoughts", 0))
            elif m["type"] == "user" and text.strip() and not is_child:
                count["prompts"] += not text.startswith(("<session_context>", "/"))
    return count


def qwen(paths):
    count = collections.Counter()
    for r in (r for path in paths if path.endswith(".jsonl") for r in records(path)):
        side, parts = r.get("isSidechain"), (r.get("message") or {}).get("parts") or []
        text = "".join(p.get("text") or "" for p in parts if not p.get("thought"))
        if r["type"] == "user" and not side and r.get("provenance") in (None, "real_user"):
            count["prompts"] += bool(text.strip())
        elif r["type"] == "assistant":
            count["replies"] += bool(text.strip()) and not side
            count["calls"] += sum("functionCall" in p for p in parts)
            u = r.get("usageMetadata") or {}
            cached = u.get("cachedContentTokenCount") or 0
            count.update(input=(u.get("promptTokenCount") or 0) - cached, cache_read=cached,
                         output=u.get("candidatesTokenCount") or 0)
    return count


def rows(paths, table):
    return [r["row"] for path in paths for r in records(path) if r.get("table") == table]


def goose(paths):
    count = collections.Counter()
    if any("/subagent-" in path for path in paths):
        raise ValueError("a session with a subagent")
    for row in rows(paths, "messages"):
        parts, seen = json.loads(row["content_json"]), json.loads(row.get("metadata_json") or "{}")
        text = "".join(p.get("text") or "" for p in parts if p["type"] == "text")
        count["calls"] += sum(p["type"] == "toolRequest" for p in parts)
        if seen.get("userVisible", True) and text.strip():
            count["prompts" if row["role"] == "user" else "replies"] += 1
    for row in rows(paths, "usage_ledger"):
        cached = row.get("cache_read_tokens") or 0
        count.update(input=row["input_tokens"] - cached, output=row["output_tokens"], cache_read=cached)
    return count


def pi(paths):
    return entries(r for path in paths for r in records(path))


def openclaw(paths):
    return entries(json.loads(row["event_json"]) for row in rows(paths, "transcript_events"))


def entries(all):
    count = collections.Counter()
    for m in (r["message"] for r in all if r.get("type") == "message"):
        content = m.get("content") or []
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        said = sum(bool(b["text"].strip()) for b in blocks if b["type"] == "text")
        if m["role"] == "user":
            count["prompts"] += said > 0
        elif m["role"] == "assistant":
            count["replies"] += said
            count["calls"] += sum(b["type"] == "toolCall" for b in blocks)
            u = m.get("usage") or {}
            count.update(input=u.get("input", 0), output=u.get("output", 0), cache_read=u.get("cacheRead", 0),
                         cache_write=u.get("cacheWrite", 0))
    return count


def vitals(path):
    text = open(path, encoding="utf-8").read()
    number = lambda key: float((re.findall(rf"^{key}: ([\d.e-]+)", text, re.M) or ["0"])[0])
    models = lambda key: sum(int(n) for n in re.findall(rf"^  {key}: (\d+)", text, re.M))
    found = collections.Counter(prompts=number("prompts"), replies=number("replies"), calls=number("tool_calls"))
    found.update({key: models(key) for key in ("input", "output", "cache_read", "cache_write")})
    found["cost"] = number("cost_usd")
    return found


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("sources", nargs="+", metavar="AGENT=DIR")
    ask.add_argument("--memtree", required=True)
    ask.add_argument("--sessions", type=int, default=5)
    args = ask.parse_args()
    differences = 0
    for source in args.sources:
        agent, _ = source.split("=", 1)
        with tempfile.TemporaryDirectory() as store:
            subprocess.run([args.memtree, "--store", store, "sweep", "--quiet", "--source", source], stderr=subprocess.DEVNULL)
            compared = 0
            for snapshot in sorted(glob.glob(store + "/sessions/*/snapshot")):
                raw = sorted(f for f in glob.glob(snapshot + "/raw/**", recursive=True) if os.path.isfile(f))
                raw.sort(key=lambda f: os.path.basename(f).startswith("agent-"))
                digest = open(glob.glob(os.path.dirname(snapshot) + "/*_DIGEST.md")[0], encoding="utf-8").read()
                if f"flavor: {agent}\n" not in digest or "\ninherited: 0\n" not in open(snapshot + "/state/vitals.yaml").read():
                    continue
                try:
                    mine = globals()[agent](raw)
                except (KeyError, ValueError, UnicodeDecodeError):
                    continue  # a form of log that the few lines above do not know, such as a database
                theirs = vitals(snapshot + "/state/vitals.yaml")
                if not mine["prompts"]:
                    continue
                compared += 1
                keys = ["prompts", "replies", "calls", "input", "output", "cache_read", "cache_write"]
                keys += ["cost"] if agent == "opencode" else []
                wrong = {k: (mine[k], theirs[k]) for k in keys if abs(mine[k] - theirs[k]) > 1e-6}
                differences += bool(wrong)
                shown = " ".join(f"{k}={mine[k]:g}" for k in keys)
                print(f"{'DIFFERS' if wrong else 'agrees '} {agent:<9}{os.path.basename(os.path.dirname(snapshot))}  {wrong or shown}")
                if compared == args.sessions:
                    break
            print(f"{agent}: {compared} sessions compared")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
