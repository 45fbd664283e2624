/** What a client may do. */
export interface Rights {
  readonly preset: "full";
}

export const FULL_RIGHTS: Rights = { preset: "full" };
