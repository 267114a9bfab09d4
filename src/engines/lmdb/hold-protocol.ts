/** The request of a joining process to the owner, after it has connected to its socket. */
export const holdRequest = 'open\n';
/** The answer of the owner: no process commits until the connection ends. */
export const holdReply = 'held\n';
