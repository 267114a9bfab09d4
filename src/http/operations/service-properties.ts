import type { ServiceProperties } from '../../model/resources/service-properties.js';
import {
  parseServiceProperties,
  renderServiceProperties,
  type PropertiesDialect,
} from '../../wire/xml/service-properties.js';
import type { Operation } from '../exchange/service.js';
import { serviceAccess } from './access.js';
import { documentReply, emptyReply } from './replies.js';
import { type ServiceRequest, xmlBodyBytesMax } from './request.js';

/** `GET /?restype=service&comp=properties` of a service (queue-service §6.2). */
export const getServiceProperties: Operation<ServiceRequest, void, ServiceProperties> = {
  access: serviceAccess('read'),
  bodyBytesMax: 0,

  parse() {},

  run(_input, { backend, account, exchange }) {
    return backend.properties.get(exchange.service, account);
  },

  render(properties, _input, { exchange }) {
    return documentReply(exchange, renderServiceProperties(properties, exchange.version));
  },
};

/** `PUT /?restype=service&comp=properties`: absent parts are unchanged. */
export function setServiceProperties(
  dialect: PropertiesDialect,
): Operation<ServiceRequest, Partial<ServiceProperties>, void> {
  return {
    access: serviceAccess('write'),
    bodyBytesMax: xmlBodyBytesMax,

    parse({ exchange }) {
      return parseServiceProperties(exchange.body, exchange.version, dialect);
    },

    run(change, { backend, account, exchange }) {
      return backend.properties.set(exchange.service, account, change);
    },

    render() {
      return emptyReply(202);
    },
  };
}
