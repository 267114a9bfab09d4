/** The longest body that describes a service or a container: policies, rules. */
export const xmlBodyBytesMax = 64 * 1024;
