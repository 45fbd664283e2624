import { describe, expect, it } from "vitest";
import { diagnose } from "./diagnosis.ts";
import { distributionsOf, type MachineFacts } from "./machine-facts.ts";

const DEBIAN: MachineFacts = {
  platform: "linux",
  architecture: "x64",
  kernel: "6.1.0",
  distributions: ["debian"],
  isRoot: false,
  isContainer: false,
  settings: { "user.max_user_namespaces": "96360" },
};
const UBUNTU: MachineFacts = {
  ...DEBIAN,
  distributions: ["ubuntu", "debian"],
  settings: { ...DEBIAN.settings, "kernel.apparmor_restrict_unprivileged_userns": "1" },
};
const CLOSED: MachineFacts = { ...DEBIAN, settings: { "user.max_user_namespaces": "0" } };
const ROOT_ONLY: MachineFacts = { ...DEBIAN, settings: { "kernel.unprivileged_userns_clone": "0" } };
const CONTAINER: MachineFacts = { ...DEBIAN, isContainer: true };

// As bubblewrap 0.8.0 says it.
const NO_PERMISSION =
  "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces. See <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README.Debian.gz>.";
const NO_SPACE =
  "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)";
const NO_PROC = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted";
const NO_MAP = "bwrap: setting up uid map: Permission denied";
const NO_LOOPBACK = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted";
const CAPABILITIES = "bwrap: Unexpected capabilities but not setuid, old file caps config?";
const SET_USER_ID = "bwrap: The --size option is not permitted in setuid mode";
const NOT_FOUND = "the sandbox is unavailable: bwrap was not found on the server's PATH";

describe("diagnose", () => {
  it.each<[string, string, MachineFacts, string, string]>([
    ["no bubblewrap on Debian", NOT_FOUND, DEBIAN, "not installed", "apt-get install bubblewrap"],
    ["no bubblewrap on Ubuntu", NOT_FOUND, UBUNTU, "not installed", "apt-get install bubblewrap"],
    [
      "no bubblewrap on Fedora",
      NOT_FOUND,
      { ...DEBIAN, distributions: ["fedora"] },
      "not installed",
      "dnf install bubblewrap",
    ],
    [
      "no bubblewrap on a relative of Fedora",
      NOT_FOUND,
      { ...DEBIAN, distributions: ["rocky", "rhel", "centos", "fedora"] },
      "not installed",
      "dnf install bubblewrap",
    ],
    [
      "no bubblewrap on Alpine",
      NOT_FOUND,
      { ...DEBIAN, distributions: ["alpine"] },
      "not installed",
      "apk add bubblewrap",
    ],
    [
      "no bubblewrap elsewhere",
      NOT_FOUND,
      { ...DEBIAN, distributions: ["plan9"] },
      "not installed",
      "install the package bubblewrap of your system",
    ],
    [
      "an old bubblewrap",
      "the sandbox is unavailable: /usr/bin/bwrap has version 0.4.1, but 0.5.0 or later is needed",
      DEBIAN,
      "too old",
      "install bubblewrap 0.5.0 or later",
    ],
    ["an option it does not have", "bwrap: Unknown option --perms", DEBIAN, "too old", "0.5.0 or later"],
    [
      "a bubblewrap that does not run",
      "the sandbox is unavailable: /opt/bwrap cannot be run: spawn EACCES",
      DEBIAN,
      "comes first on PATH does not work",
      "remove it from PATH",
    ],
    [
      "no namespaces at all",
      NO_SPACE,
      CLOSED,
      "user.max_user_namespaces = 0",
      "sysctl -w user.max_user_namespaces=",
    ],
    [
      "no namespaces, by permission",
      NO_PERMISSION,
      CLOSED,
      "user.max_user_namespaces = 0",
      "sysctl -w user.max",
    ],
    [
      "namespaces for root only",
      NO_PERMISSION,
      ROOT_ONLY,
      "kernel.unprivileged_userns_clone = 0",
      "sysctl -w kernel.unprivileged_userns_clone=1",
    ],
    [
      "a limit that is reached",
      NO_SPACE,
      DEBIAN,
      "the limit of namespaces",
      "/proc/sys/user/max_*_namespaces",
    ],
    ["a chroot", NO_PERMISSION, DEBIAN, "this process may not", "chroot"],
    ["a chroot of root", NO_PERMISSION, { ...ROOT_ONLY, isRoot: true }, "this process may not", "chroot"],
    ["AppArmor", NO_MAP, UBUNTU, "AppArmor", "'profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }'"],
    ["AppArmor, later", NO_LOOPBACK, UBUNTU, "AppArmor", "apparmor_parser -r /etc/apparmor.d/bwrap"],
    ["another security module", NO_MAP, DEBIAN, "a security module", "dmesg"],
    ["a container", NO_PERMISSION, CONTAINER, "the container may not", "--security-opt seccomp=unconfined"],
    [
      "a container that masks /proc",
      NO_PROC,
      CONTAINER,
      "the container's are masked",
      "systempaths=unconfined",
    ],
    ["a masked /proc", NO_PROC, DEBIAN, "this one are masked", "unmask=ALL"],
    [
      "capabilities",
      CAPABILITIES,
      DEBIAN,
      "capabilities that bubblewrap does not expect",
      "AmbientCapabilities",
    ],
    ["a set-user-ID bit", SET_USER_ID, DEBIAN, "set-user-ID", "chmod u-s"],
    [
      "no filters",
      "bwrap: prctl(PR_SET_SECCOMP): Invalid argument",
      DEBIAN,
      "no filters",
      "CONFIG_SECCOMP_FILTER",
    ],
    [
      "another architecture",
      "the sandbox is unavailable: it supports x64 and arm64, but not s390x",
      { ...DEBIAN, architecture: "s390x" },
      "no sandbox for s390x",
      "x64 or arm64",
    ],
    [
      "no koffi",
      "exec-server cannot serve without its optional dependency koffi: install it",
      DEBIAN,
      "koffi is missing",
      "npm install --include=optional",
    ],
    [
      "another system",
      "exec-server can serve only on Linux, not on darwin",
      { ...DEBIAN, platform: "darwin" },
      "not on darwin",
      "a server on Linux",
    ],
    ["anything else", "bwrap: it rains", DEBIAN, "the sandbox does not start", "bwrap --unshare-all"],
  ])("explains %s", (_, failure, facts, problem, remedy) => {
    const diagnosis = diagnose(failure, facts);
    expect(diagnosis.problem).toContain(problem);
    expect(diagnosis.remedies.join("\n")).toContain(remedy);
  });
});

describe("distributionsOf", () => {
  it.each([
    ["ID=alpine\nVERSION_ID=3.20.0\n", ["alpine"]],
    ['NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\n', ["rocky", "rhel", "centos", "fedora"]],
    ["ID_LIKE=debian\nID=ubuntu\n", ["ubuntu", "debian"]],
    ["", []],
  ])("reads %j", (text, names) => {
    expect(distributionsOf(text)).toEqual(names);
  });
});
