/**
 * The first version with CORS, minute metrics and the present element names in lists (queue-service
 * §2).
 */
export const corsVersion = '2013-08-15';

// The first versions of parts of documents about blobs (blob-service §2, §6.2, §8.3).

export const encryptionVersion = '2015-12-11';
export const containerPropertiesVersion = '2016-05-31';
export const tiersVersion = '2017-04-17';
export const deleteRetentionVersion = '2017-07-29';
export const creationTimeVersion = '2017-11-09';
export const staticWebsiteVersion = '2018-03-28';
export const tagsVersion = '2019-12-12';
export const permanentDeleteVersion = '2020-02-10';
export const immutabilityVersion = '2020-06-12';
