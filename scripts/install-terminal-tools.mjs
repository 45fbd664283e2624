// The tests of the command line use a real terminal, programs that draw on it, and a real sshd.
import { ensureProgram } from "./debian-package.mjs";

const PACKAGES = {
  tmux: "tmux",
  vim: "vim",
  top: "procps",
  ssh: "openssh-client",
  "/usr/sbin/sshd": "openssh-server",
};

const missing = Object.entries(PACKAGES).filter(([program, name]) => !ensureProgram(program, name));
if (missing.length > 0) process.exitCode = 1;
