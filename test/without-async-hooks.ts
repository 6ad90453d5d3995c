/**
 * Loaded before tap in each test file (tap.ts). tap follows every promise by an async hook, to tell which subtest an
 * uncaught error belongs to: that takes an eighth of the CPU time of all tests. Without it, such an error fails the
 * file.
 */
import asyncHooks, { type AsyncHook } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const inactive: AsyncHook = { enable: () => inactive, disable: () => inactive }
asyncHooks.createHook = () => inactive
syncBuiltinESMExports()
