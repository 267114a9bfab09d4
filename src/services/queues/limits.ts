/** Bounds of the queue service (queue-service §3.5). */

/** UTF-8 bytes of a message's text. */
export const messageTextBytesMax = 65_536;
/** Also the longest time that a message can be hidden by any operation. */
export const visibilitySecondsMax = 604_800;
export const timeToLiveSecondsDefault = 604_800;
/** Messages that one request may get or peek. */
export const messagesPerRequestMax = 32;

/** 9999-12-31T23:59:59Z: the expiry of a message that never expires (queue-service §8.1). */
export const neverMicros = 253_402_300_799_000_000;
