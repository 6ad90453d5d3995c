// What `import 'fastify-row-query'` leads to in this folder (package.json). An app has the installed package instead.
export * from '../src/index.ts'
export { default } from '../src/index.ts'
