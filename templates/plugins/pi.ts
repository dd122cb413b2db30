// memtree: written by `memtree install`, removed by `memtree uninstall`. Pi loads it at its start.
// It hands the page of the memory to a session's first prompt, and what bears on it to every prompt; when an answer
// is complete, before a compaction and at the end, it says so to memtree. Whatever goes wrong, the agent goes on.
import { spawnSync } from "node:child_process";

const CALL = [];
const LIMIT = 3000;

// Calls memtree, which answers within milliseconds and does longer work in a process of its own.
function ask(event: string, ctx: any, more: object = {}): string {
  try {
    const [program, ...words] = CALL as string[];
    const session_id = ctx.sessionManager.getSessionId();
    const transcript_path = ctx.sessionManager.getSessionFile() ?? "";
    const input = JSON.stringify({ hook_event_name: event, session_id, transcript_path, cwd: ctx.cwd, ...more });
    const { stdout } = spawnSync(program, [...words, event], { input, timeout: LIMIT, encoding: "utf8" });
    return stdout ? (JSON.parse(stdout).additionalContext ?? "") : "";
  } catch {
    return "";
  }
}

export default function (pi: any) {
  let begun = false;

  pi.on("session_start", async () => {
    begun = false;
  });
  pi.on("before_agent_start", async (event: any, ctx: any) => {
    const pages = [];
    if (!begun) pages.push(ask("SessionStart", ctx, { source: "startup" }));
    begun = true;
    if (event.prompt) pages.push(ask("UserPromptSubmit", ctx, { prompt: event.prompt }));
    const content = pages.filter(Boolean).join("\n\n");
    if (content) return { message: { customType: "memtree", content, display: false } };
  });
  pi.on("agent_end", async (_event: any, ctx: any) => {
    ask("Stop", ctx);
  });
  pi.on("session_before_compact", async (_event: any, ctx: any) => {
    ask("PreCompact", ctx);
    begun = false;
  });
  pi.on("session_shutdown", async (_event: any, ctx: any) => {
    ask("SessionEnd", ctx);
  });
}
