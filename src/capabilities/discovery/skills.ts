import { showPath } from "../files/native-path.ts";
import type { Location } from "../files/location.ts";
import type { TextFile } from "./capability-files.ts";
import type { SkillFiles } from "./capability-root.ts";
import { readFrontMatter } from "./front-matter.ts";
import { namespaceOf } from "./plugin-manifest.ts";
import { NO_METADATA, readSkillMetadata, type SkillMetadata } from "./skill-metadata.ts";

/** A skill's description of itself. */
export interface SkillDescription extends SkillMetadata {
  readonly name: string;
  readonly description: string;
  readonly shortDescription: string | null;
  readonly location: Location;
}

const MAX_NAME_LENGTH = 64;

/** Throws an Error with the reason if the skill cannot be used. */
export async function describeSkill(
  { instructions, metadata }: SkillFiles,
  manifests: readonly TextFile[],
): Promise<SkillDescription> {
  const { location, contents } = instructions;
  const head = await readFrontMatter(contents);
  const name = head.name ?? showPath(location.parent.name);
  if (Array.from(name).length > MAX_NAME_LENGTH)
    throw new Error(`name is longer than ${MAX_NAME_LENGTH} characters`);
  const namespace = namespaceOf(location, manifests);
  return {
    name: namespace === undefined ? name : `${namespace}:${name}`,
    description: head.description,
    shortDescription: head.shortDescription ?? null,
    location,
    ...(metadata === undefined ? NO_METADATA : await readSkillMetadata(metadata.contents)),
  };
}
