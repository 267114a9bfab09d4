/** What a process that joins sends to the owner, once it is connected to its socket. */
export const holdRequest = 'open\n';
/** The answer of the owner: nobody commits until the connection ends. */
export const holdReply = 'held\n';
