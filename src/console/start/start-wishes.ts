/** What the dialog begins with. */
export interface StartWishes {
  readonly argv?: readonly string[] | undefined;
  readonly cwdUri?: string | undefined;
  readonly name?: string | undefined;
  readonly isTerminal?: boolean | undefined;
  readonly takesInput?: boolean | undefined;
}

export interface StartDialogProps {
  readonly wishes: StartWishes;
  readonly onClose: () => void;
}
