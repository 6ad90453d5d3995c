# The server row-query, as docs/deployment.md describes it: docker build -t row-query .

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY build build
COPY page page
COPY plugins plugins
COPY schemas schemas
COPY src src
RUN npm run build

FROM node:24-slim
# Every line of the log is JSON; --env ROW_QUERY_LOG_FORMAT=pretty is for people.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 ROW_QUERY_LOG_FORMAT=json
WORKDIR /app
COPY package.json ./
COPY --from=dependencies /app/node_modules node_modules
# What the setting mcp needs: an optional package, which npm does not install by itself.
COPY --from=build /app/node_modules/@modelcontextprotocol/server node_modules/@modelcontextprotocol/server
COPY --from=build /app/node_modules/@modelcontextprotocol/core node_modules/@modelcontextprotocol/core
COPY --from=build /app/node_modules/zod node_modules/zod
COPY --from=build /app/dist dist
# The demo writes its database to data/ in the working directory. Nothing else writes a file.
RUN mkdir -m 1777 -p /row-query/data
WORKDIR /row-query
USER node
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["node", "/app/dist/src/cli/main.js", "health"]
# The exec form: signals reach Node, because there is no shell and no npm above it.
ENTRYPOINT ["node", "/app/dist/src/cli/main.js"]
CMD ["serve"]
