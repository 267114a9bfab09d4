/**
 * Hears errors of a connection or an answer. Whoever owns it hears of its close; writing into it
 * meanwhile is no news. Every accepted connection has this listener from its first moment, because
 * an error that nobody hears ends the process.
 */
export function ignoreLostClient(): void {}
