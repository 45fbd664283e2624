import type { Desk } from "./desk.ts";
import { attach } from "./scenes/attach.ts";
import { completion } from "./scenes/completion.ts";
import { copy } from "./scenes/copy.ts";
import { fleet } from "./scenes/fleet.ts";
import { interrupt } from "./scenes/interrupt.ts";
import { open } from "./scenes/open.ts";
import { relay } from "./scenes/relay.ts";
import { serve } from "./scenes/serve.ts";
import { shell } from "./scenes/shell.ts";
import { tunnel } from "./scenes/tunnel.ts";

/** A user at a desk; returns the final screens, or those at the moments that matter. */
export type Scene = (desk: Desk) => Promise<readonly string[]>;

/** What the page shows besides lines that are typed one after another. */
export const SCENES: Readonly<Record<string, Scene>> = {
  attach,
  completion,
  copy,
  fleet,
  interrupt,
  open,
  relay,
  serve,
  shell,
  tunnel,
};
