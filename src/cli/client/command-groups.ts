/** What the overview of all commands shows, in its order. A command that is in no group is hidden. */
export const COMMAND_GROUPS: readonly { readonly title: string; readonly names: readonly string[] }[] = [
  { title: "Run things", names: ["run", "shell", "open", "attach", "record", "replay", "agent"] },
  { title: "Work through rows", names: ["map", "agents"] },
  { title: "Look after them", names: ["ps", "logs", "wait", "kill"] },
  { title: "Files and network", names: ["cp", "sync", "ls", "cat", "fetch", "tunnel"] },
  { title: "Where commands run", names: ["host", "fleet", "status", "stop", "bridge"] },
  { title: "The server", names: ["serve", "doctor", "sandbox", "token", "audit"] },
  { title: "More", names: ["help", "completion"] },
];
