// The tests of the command line use a real terminal and programs that draw on it.
import { ensureProgram } from "./debian-package.mjs";

const PACKAGES = { tmux: "tmux", vim: "vim", top: "procps" };

const missing = Object.entries(PACKAGES).filter(([program, name]) => !ensureProgram(program, name));
if (missing.length > 0) process.exitCode = 1;
