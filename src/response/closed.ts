import type { ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'

/** Whether a response has been sent, or its client has disconnected. The response of HTTP/2 has no `destroyed` of its own. */
export const isClosed = (response: ServerResponse | Http2ServerResponse): boolean => 'stream' in response ? response.stream.destroyed : response.destroyed
