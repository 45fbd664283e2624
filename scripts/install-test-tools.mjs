// Programs that the tests use, beyond those of every Debian system.
import { ensurePrograms } from "./debian-package.mjs";

const PACKAGES = {
  // The sandbox.
  bwrap: "bubblewrap",
  // Real terminals, and programs that draw on them.
  tmux: "tmux",
  vim: "vim",
  top: "procps",
  // A web page behind a tunnel.
  curl: "curl",
  // Shells that complete commands.
  zsh: "zsh",
  fish: "fish",
  // Certificates, and pages in a real browser.
  openssl: "openssl",
  "chromium-headless-shell": "chromium-headless-shell",
  // A machine that is reached over ssh; only the tests start the server.
  ssh: "openssh-client",
  "/usr/sbin/sshd": "openssh-server",
  // The shell and the utilities of a small machine.
  busybox: "busybox",
  // Carries a fleet; only the tests start it.
  "/usr/sbin/nats-server": "nats-server",
  // Judges the unit in deploy/systemd.
  "systemd-analyze": "systemd",
};

if (!ensurePrograms(PACKAGES, { "openssh-server": "ssh", "nats-server": "nats-server" }))
  process.exitCode = 1;
