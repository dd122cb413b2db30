// memtree: written by `memtree install`, removed by `memtree uninstall`. OpenCode and Kilo load it at their start.
// It hands the page of the memory to a session's first prompt, and what bears on it to every prompt; when an answer
// is complete, and before a compaction, it says so to memtree. Whatever goes wrong, the agent goes on.
import { spawnSync } from "node:child_process";

const CALL = [];
const LIMIT = 3000;

// Calls memtree, which answers within milliseconds and does longer work in a process of its own.
function ask(event, payload) {
  try {
    const [program, ...words] = CALL;
    const input = JSON.stringify({ hook_event_name: event, ...payload });
    const { stdout } = spawnSync(program, [...words, event], { input, timeout: LIMIT, encoding: "utf8" });
    return stdout ? (JSON.parse(stdout).additionalContext ?? "") : "";
  } catch {
    return "";
  }
}

export const memtree = async ({ client, directory }) => {
  const begun = new Set();
  const subagents = new Map();

  // What a subagent does is part of the session that started it.
  async function isSubagent(id) {
    if (!subagents.has(id)) {
      const found = await client.session.get({ path: { id } }).catch(() => undefined);
      subagents.set(id, Boolean(found?.data?.parentID));
    }
    return subagents.get(id);
  }

  return {
    "chat.message": async (input, output) => {
      const id = input.sessionID;
      const typed = output.parts.filter((part) => part.type === "text" && !part.synthetic);
      const last = output.parts.at(-1);
      if (!last || typed.length === 0 || (await isSubagent(id))) return;
      const payload = { session_id: id, cwd: directory };
      const pages = [];
      if (!begun.has(id)) pages.push(ask("SessionStart", { ...payload, source: "startup" }));
      begun.add(id);
      pages.push(ask("UserPromptSubmit", { ...payload, prompt: typed.map((part) => part.text).join("\n") }));
      const text = pages.filter(Boolean).join("\n\n");
      if (text) output.parts.push({ ...last, id: `${last.id}m`, type: "text", text, synthetic: true });
    },
    event: async ({ event }) => {
      const id = event.properties?.sessionID;
      if (event.type !== "session.idle" || !id || (await isSubagent(id))) return;
      ask("Stop", { session_id: id, cwd: directory });
    },
    "experimental.session.compacting": async (input) => {
      ask("PreCompact", { session_id: input.sessionID, cwd: directory });
      begun.delete(input.sessionID);
    },
  };
};
