/** Limits of the wire. Changing one changes what a Codex peer sees. */
export const MAX_JSON_VALUES = 262_144;
/**
 * Ours alone. An object whose keys occur nowhere else costs many times what others of a known shape cost: with 262 144
 * different keys, `JSON.parse` alone can take more than a second.
 */
export const MAX_DIFFERENT_KEYS = 16_384;
/** Ours alone. Handlers read text several times over; data, in base64, is decoded once. */
export const MAX_TEXT_CHARACTERS = 8 * 1024 * 1024;
/** Ours alone. Ids are kept for as long as what they name, and are part of each of its events. */
export const MAX_ID_CHARACTERS = 8_192;
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** Frames we send stay well below the peer's limit; longer messages are fragmented. */
export const MAX_SENT_FRAME_BYTES = 4 * 1024 * 1024;
export const PING_INTERVAL_MS = 30_000;

export const DETACHED_SESSION_TTL_MS = 80_000;
export const EXITED_PROCESS_RETENTION_MS = 80_000;
export const MAX_RETAINED_BYTES = 1_048_576;
export const MAX_RETAINED_CHUNKS = 50_000;
export const MAX_REMEMBERED_WRITE_IDS = 4096;
export const TERMINAL_ROWS = 24;
export const TERMINAL_COLUMNS = 80;

/** Id of the answer to a message that could not be parsed. */
export const MALFORMED_MESSAGE_ID = -1;

/** Close code of a WebSocket whose session another connection has taken over. */
export const SESSION_TAKEN_CLOSE_CODE = 4010;

/** Close code of a WebSocket whose token has expired or was revoked, or whose rights have changed. */
export const CREDENTIAL_ENDED_CLOSE_CODE = 4011;

/** A client closes its WebSocket with it to say that it will not resume its session. */
export const SESSION_OVER_CLOSE_CODE = 4012;
