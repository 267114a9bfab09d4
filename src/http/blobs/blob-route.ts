import type { RoutedRequest, ServiceRoute } from '../operations/route.js';
import type { AnyBlobOperation, BlobRequest } from './request.js';

/** The parts of a request that routing uses. */
export type RoutedBlobRequest = Pick<BlobRequest, 'resource' | 'header'> & RoutedRequest;
export type BlobRoute = ServiceRoute<RoutedBlobRequest, AnyBlobOperation>;
