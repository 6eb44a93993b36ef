# Heddle as an image: Node 24 runs the TypeScript as it is, so there is nothing to build. PostgreSQL comes from outside
# (docker-compose.yml); the image has neither the embedded one nor a second Node (--omit=optional).
ARG NODE_IMAGE=node:24-bookworm-slim
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts && npm cache clean --force

FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=2024 DATA_DIR=/data
WORKDIR /app
# /data belongs to the user before the volume is mounted: a new named volume takes over the owner.
RUN mkdir /data && chown node:node /data
COPY --from=dependencies /app/node_modules node_modules
COPY package.json langgraph.json ./
COPY src src
COPY middlewares middlewares
COPY tools tools
USER node
VOLUME /data
EXPOSE 2024
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/ok`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# node itself is process 1, so that SIGTERM reaches it and runs are given back before it ends.
CMD ["node", "--disable-warning=ExperimentalWarning", "src/main.ts"]
