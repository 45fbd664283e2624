import { isPublicKey, type PublicKey } from "../noise/keys.ts";

const SUITE = "Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256";
export const SECURITY_PROFILE = "noise_hybrid_ik_v1";

/** A public key as the registry's JSON has it. */
export interface WireKey {
  readonly suite: string;
  readonly x25519_public_key: string;
  readonly mlkem768_public_key: string;
}

export function writeKey({ x25519, mlkem768 }: PublicKey): WireKey {
  return {
    suite: SUITE,
    x25519_public_key: Buffer.from(x25519).toString("base64"),
    mlkem768_public_key: Buffer.from(mlkem768).toString("base64"),
  };
}

/** Undefined for what is not a key of this suite. */
export function readKey(value: unknown): PublicKey | undefined {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 3) return undefined;
  const { suite, x25519_public_key: x25519, mlkem768_public_key: mlkem768 } = value as Partial<WireKey>;
  if (suite !== SUITE || typeof x25519 !== "string" || typeof mlkem768 !== "string") return undefined;
  const key = { x25519: Buffer.from(x25519, "base64"), mlkem768: Buffer.from(mlkem768, "base64") };
  const isCanonical =
    key.x25519.toString("base64") === x25519 && key.mlkem768.toString("base64") === mlkem768;
  return isCanonical && isPublicKey(key) ? key : undefined;
}
