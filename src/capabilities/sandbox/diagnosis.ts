import type { MachineFacts } from "./machine-facts.ts";

/** A problem with the sandbox, and its remedies. */
export interface Diagnosis {
  readonly problem: string;
  /** Commands and sentences, to be followed in this order. */
  readonly remedies: readonly string[];
}

interface Rule {
  /** Words of bubblewrap, or of our search for it; one of them is enough. */
  readonly says: readonly string[];
  readonly applies?: (facts: MachineFacts) => boolean;
  readonly problem: string | ((facts: MachineFacts) => string);
  readonly remedies: Diagnosis["remedies"] | ((facts: MachineFacts) => Diagnosis["remedies"]);
}

const INSTALL_COMMANDS: Readonly<Record<string, string>> = {
  debian: "apt-get install bubblewrap",
  ubuntu: "apt-get install bubblewrap",
  fedora: "dnf install bubblewrap",
  rhel: "dnf install bubblewrap",
  alpine: "apk add bubblewrap",
  arch: "pacman -S bubblewrap",
  suse: "zypper install bubblewrap",
};

/** Allows only bwrap to create user namespaces on a system where AppArmor forbids it. */
const APPARMOR_PROFILE = [
  "printf '%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' \\",
  "  'profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }' > /etc/apparmor.d/bwrap",
  "apparmor_parser -r /etc/apparmor.d/bwrap",
];

const IS_ZERO = (value: string | undefined): boolean => value === "0";
const NO_NAMESPACE = ["No permissions to create new namespace", "Creating new namespace failed"];
const MAPPING_REFUSED = [
  "setting up uid map: ",
  "setting up gid map: ",
  "RTM_NEWADDR: Operation not permitted",
];

/** The first that fits counts. */
const RULES: readonly Rule[] = [
  {
    says: ["was not found on the server's PATH"],
    problem: "bubblewrap is not installed",
    remedies: (facts) => [installCommand(facts)],
  },
  {
    says: ["or later is needed", "Unknown option"],
    problem: "bubblewrap is too old",
    remedies: (facts) => [`install bubblewrap 0.5.0 or later: ${installCommand(facts)}`],
  },
  {
    says: ["cannot be run", "does not report its version"],
    problem: "the bwrap that comes first on PATH does not work",
    remedies: (facts) => [
      `remove it from PATH, repair its permissions, or install it anew: ${installCommand(facts)}`,
    ],
  },
  {
    says: ["supports x64 and arm64"],
    problem: ({ architecture }) => `there is no sandbox for ${architecture}`,
    remedies: ["use an x64 or arm64 machine"],
  },
  {
    says: NO_NAMESPACE,
    applies: ({ settings }) => IS_ZERO(settings["user.max_user_namespaces"]),
    problem: "user namespaces are switched off (user.max_user_namespaces = 0)",
    remedies: keptSetting("user.max_user_namespaces=28633"),
  },
  {
    says: NO_NAMESPACE,
    applies: ({ settings, isRoot }) => !isRoot && IS_ZERO(settings["kernel.unprivileged_userns_clone"]),
    problem: "only root may create user namespaces (kernel.unprivileged_userns_clone = 0)",
    remedies: keptSetting("kernel.unprivileged_userns_clone=1"),
  },
  {
    says: ["(ENOSPC)"],
    problem: "the limit of namespaces is reached, or they are nested too deeply",
    remedies: ["look at /proc/sys/user/max_*_namespaces, and raise what is too low with sysctl -w"],
  },
  {
    says: MAPPING_REFUSED,
    applies: ({ settings }) => settings["kernel.apparmor_restrict_unprivileged_userns"] === "1",
    problem:
      "AppArmor keeps bubblewrap from using user namespaces (kernel.apparmor_restrict_unprivileged_userns = 1)",
    remedies: APPARMOR_PROFILE,
  },
  {
    says: ["Can't mount proc on "],
    problem: ({ isContainer }) =>
      `a new /proc cannot be mounted, because parts of ${isContainer ? "the container's" : "this one"} are masked`,
    remedies: [
      "Docker: run the container with --security-opt systempaths=unconfined",
      "Podman: run it with --security-opt unmask=ALL",
      "Kubernetes: set securityContext.procMount to Unmasked",
    ],
  },
  {
    says: [...NO_NAMESPACE, ...MAPPING_REFUSED],
    applies: ({ isContainer }) => isContainer,
    problem: "the container may not create namespaces",
    remedies: [
      "Docker, Podman: run it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined, " +
        "or with a seccomp profile that allows clone, unshare, mount and pivot_root",
      "Kubernetes: set securityContext.seccompProfile.type to Unconfined",
    ],
  },
  {
    says: NO_NAMESPACE,
    problem: "this process may not create user namespaces",
    remedies: [
      "do not run the server in a chroot, nor in a service that forbids it (systemd: RestrictNamespaces=no)",
    ],
  },
  {
    says: MAPPING_REFUSED,
    problem: "a security module keeps bubblewrap from using user namespaces",
    remedies: ["look for the denial in the kernel's log (dmesg), and allow it there for /usr/bin/bwrap"],
  },
  {
    says: ["Unexpected capabilities but not setuid"],
    problem: "the server has capabilities that bubblewrap does not expect",
    remedies: ["start the server without ambient capabilities (systemd: remove AmbientCapabilities=)"],
  },
  {
    says: ["not permitted in setuid mode"],
    problem: "bwrap is installed with the set-user-ID bit, in which mode it cannot do everything",
    remedies: ['chmod u-s "$(command -v bwrap)", and allow user namespaces'],
  },
  {
    says: ["PR_SET_SECCOMP"],
    problem: "the kernel has no filters for system calls",
    remedies: ["use a kernel built with CONFIG_SECCOMP_FILTER"],
  },
  {
    says: ["koffi"],
    problem: "the dependency koffi is missing, or does not load",
    remedies: ["npm install --include=optional"],
  },
  {
    says: ["only on Linux"],
    problem: ({ platform }) => `exec-server can serve only on Linux, not on ${platform}`,
    remedies: ["use the client library here, and a server on Linux"],
  },
];

/** Explains a failure of the sandbox from its message and from facts about the machine. */
export function diagnose(failure: string, facts: MachineFacts): Diagnosis {
  const rule = RULES.find(
    ({ says, applies = () => true }) => says.some((words) => failure.includes(words)) && applies(facts),
  );
  const { problem, remedies } = rule ?? UNEXPLAINED;
  return {
    problem: typeof problem === "string" ? problem : problem(facts),
    remedies: typeof remedies === "function" ? remedies(facts) : remedies,
  };
}

const UNEXPLAINED: Diagnosis = {
  problem: "the sandbox does not start",
  remedies: ["try it by hand: bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc true"],
};

function installCommand({ distributions }: MachineFacts): string {
  const known = distributions.find((name) => Object.hasOwn(INSTALL_COMMANDS, name));
  return known === undefined
    ? "install the package bubblewrap of your system (apt-get, dnf or apk: bubblewrap)"
    : INSTALL_COMMANDS[known]!;
}

/** Sets it now, and at each start of the machine. */
function keptSetting(assignment: string): string[] {
  return [`sysctl -w ${assignment}`, `echo ${assignment} > /etc/sysctl.d/90-exec-server.conf`];
}
