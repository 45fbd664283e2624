/** `cli` is not a carrier of messages: such a requirement starts server processes itself. */
export type RequirementTransport = "ws" | "stdio" | "memory" | "cli";

export interface Requirement {
  /** Section of the protocol that states it. */
  section: string;
  /** The behaviour, in one sentence. */
  behavior: string;
  /** Where it applies. Default: every carrier. */
  transports?: readonly RequirementTransport[];
  /**
   * `ours`: a rule this project adds. It is not run on the real server, and `note` says what that one does. `codex`: what the real server does and this one
   * does not. It is not run on this one, and `note` says what this one does.
   */
  origin?: "ours" | "codex";
  note?: string;
  /** The first Codex release for which it holds, where earlier ones differ. */
  since?: string;
  /** The last Codex release for which it held. It runs on the releases up to that one alone. */
  until?: string;
  /** Targets that are wrong, in every release. The test must fail there, so that a repair is noticed. */
  knownFailures?: readonly { target: "codex" | "codex-stdio"; note: string }[];
}

export type Requirements = Readonly<Record<string, Requirement>>;
