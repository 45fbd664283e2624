import { createHash, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import { canonicalIp } from "../ip-address.ts";
import {
  bitString,
  boolean,
  contextual,
  integer,
  objectId,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from "./der.ts";

/** Who vouches for a certificate. */
export interface Issuer {
  readonly name: string;
  readonly publicKey: KeyObject;
  /** On the curve P-256. */
  readonly privateKey: KeyObject;
}

export interface Validity {
  readonly from: Date;
  readonly until: Date;
}

const OID = {
  commonName: "2.5.4.3",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
} as const;

/** A certificate of an authority that signs those of hosts, and no other authorities, in PEM. */
export function authorityCertificate(issuer: Issuer, validity: Validity): string {
  return certificate(issuer, { name: issuer.name, publicKey: issuer.publicKey, validity }, [
    extension(OID.basicConstraints, sequence(boolean(true), integer(0)), { critical: true }),
    // keyCertSign, the sixth bit.
    extension(OID.keyUsage, bitString(Buffer.of(0b0000_0100), 2), { critical: true }),
  ]);
}

/** A certificate of one host, a name or an address, in PEM. */
export function hostCertificate(
  issuer: Issuer,
  { host, publicKey, validity }: { host: string; publicKey: KeyObject; validity: Validity },
): string {
  return certificate(issuer, { name: "inspected host", publicKey, validity }, [
    extension(OID.basicConstraints, sequence(), { critical: true }),
    // digitalSignature, the first bit.
    extension(OID.keyUsage, bitString(Buffer.of(0b1000_0000), 7), { critical: true }),
    extension(OID.extendedKeyUsage, sequence(objectId(OID.serverAuth))),
    extension(OID.subjectAltName, sequence(alternativeName(host))),
  ]);
}

interface Subject {
  readonly name: string;
  readonly publicKey: KeyObject;
  readonly validity: Validity;
}

function certificate(issuer: Issuer, { name, publicKey, validity }: Subject, own: readonly Buffer[]): string {
  const algorithm = sequence(objectId(OID.ecdsaWithSha256));
  const extensions = [
    ...own,
    extension(OID.subjectKeyIdentifier, octetString(keyIdentifier(publicKey))),
    extension(
      OID.authorityKeyIdentifier,
      sequence(contextual(0, keyIdentifier(issuer.publicKey), { constructed: false })),
    ),
  ];
  const signed = sequence(
    // Version 3.
    contextual(0, integer(2), { constructed: true }),
    integer(randomBytes(16)),
    algorithm,
    nameOf(issuer.name),
    sequence(time(validity.from), time(validity.until)),
    nameOf(name),
    spkiOf(publicKey),
    contextual(3, sequence(...extensions), { constructed: true }),
  );
  const signature = sign("sha256", signed, issuer.privateKey);
  return pem(sequence(signed, algorithm, bitString(signature)));
}

function extension(id: string, value: Buffer, { critical = false } = {}): Buffer {
  return sequence(objectId(id), ...(critical ? [boolean(true)] : []), octetString(value));
}

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(objectId(OID.commonName), utf8String(commonName))));
}

/** Names are numbered 2, addresses 7. */
function alternativeName(host: string): Buffer {
  return isIP(host) === 0
    ? contextual(2, Buffer.from(host, "latin1"), { constructed: false })
    : contextual(7, addressBytes(host), { constructed: false });
}

function addressBytes(ip: string): Buffer {
  if (!ip.includes(":")) return Buffer.from(ip.split(".").map(Number));
  const [head = "", tail] = (canonicalIp(ip) ?? ip).split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const first = groups(head);
  const last = groups(tail ?? "");
  const zeros: string[] = Array.from({ length: 8 - first.length - last.length }, () => "0");
  return Buffer.from([...first, ...zeros, ...last].map((group) => group.padStart(4, "0")).join(""), "hex");
}

/** The usual hash of the key. */
function keyIdentifier(key: KeyObject): Buffer {
  return createHash("sha1").update(spkiOf(key)).digest();
}

function spkiOf(key: KeyObject): Buffer {
  return key.export({ type: "spki", format: "der" });
}

function pem(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}
