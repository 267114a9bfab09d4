/** Limits of the data model (table-service §2.2 and §2.3). All are inclusive. */

/** Properties that a client may store in one entity, besides the keys and Timestamp. */
export const propertiesMax = 252;

/** UTF-16 code units of a property's name. */
export const propertyNameLengthMax = 255;

/** UTF-16 code units of a PartitionKey or RowKey. */
export const keyLengthMax = 512;

/** UTF-16 code units of an Edm.String value. */
export const stringLengthMax = 32_768;

/** Bytes of an Edm.Binary value. */
export const binaryBytesMax = 65_536;

/** An entity's size by the formula of `entitySize`, in bytes. */
export const entitySizeMax = 1_048_576;
