/** A text that was not saved when its file was left, or the session ended. */
export interface Draft {
  readonly text: string;
  /** The file as it was when the changes began. */
  readonly base: Uint8Array<ArrayBuffer>;
}

const drafts = new Map<string, Draft>();

export function keepDraft(path: string, draft: Draft): void {
  drafts.set(path, draft);
}

export function takeDraft(path: string): Draft | undefined {
  const draft = drafts.get(path);
  drafts.delete(path);
  return draft;
}
