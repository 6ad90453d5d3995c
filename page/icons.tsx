/** The icons of the page: one set, drawn with lines of one width. */
import type { ComponentChildren } from 'preact'

const PATHS = {
  open: 'M6 4l4 4-4 4',
  down: 'M4 6l4 4 4-4',
  up: 'M4 10l4-4 4 4',
  first: 'M8 4l-4 4 4 4M13 4l-4 4 4 4',
  left: 'M10 4l-4 4 4 4',
  right: 'M6 4l4 4-4 4',
  last: 'M8 4l4 4-4 4M3 4l4 4-4 4',
  check: 'M3 8.5l3.2 3.2L13 5',
  close: 'M4 4l8 8M12 4l-8 8',
  key: 'M10.5 8.5a3 3 0 1 0-2.9-2.2L3 11v2.5h2.5V12H7v-1.500l1.200-1.200a3 3 0 0 0 2.300-.8z',
  table: 'M2.500 3.500h11v9h-11zM2.500 6.500h11M6 6.500v6',
  view: 'M1.500 8S4 3.800 8 3.800 14.500 8 14.500 8 12 12.200 8 12.200 1.500 8 1.500 8zM8 6.200a1.800 1.800 0 1 0 0 3.600 1.800 1.800 0 0 0 0-3.600z',
  map: 'M2.500 2.500h4v3h-4zM9.500 6.500h4v3h-4zM2.500 10.500h4v3h-4zM6.500 4h1.500v8h-1.500M8 8h1.500',
  search: 'M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM10.300 10.300L14 14',
  filter: 'M2 3.500h12L9.500 9v4l-3-1.500V9z',
  hide: 'M2 2l12 12M6 4.200A6.500 6.500 0 0 1 8 3.800C12 3.800 14.500 8 14.500 8a11 11 0 0 1-1.800 2.200M10.500 11.700A6 6 0 0 1 8 12.200C4 12.200 1.500 8 1.500 8a11 11 0 0 1 2.300-2.700',
  chart: 'M2.500 13.500h11M4.500 11V8M8 11V3.500M11.500 11V6',
  bolt: 'M9 1.500L3.500 9H8l-1 5.500L12.500 7H8z',
  code: 'M5.500 4.500L2 8l3.500 3.500M10.500 4.500L14 8l-3.500 3.500',
  image: 'M2.500 3.500h11v9h-11zM2.500 11l3-3 2.500 2.500L11 7l2.500 2.500M5.500 5.800v.4',
  more: 'M3 7.500h1v1h-1zM7.500 7.500h1v1h-1zM12 7.500h1v1h-1z',
  plus: 'M8 3v10M3 8h10',
  save: 'M8 2.500v7M5 7l3 3 3-3M3 13h10',
  star: 'M8 2l1.800 3.900 4.200.5-3.100 2.900.8 4.200L8 11.400l-3.700 2.100.8-4.200L2 6.400l4.200-.5z'
} as const

export type IconName = keyof typeof PATHS

export function Icon ({ name }: { name: IconName }): ComponentChildren {
  return <svg class='icon' viewBox='0 0 16 16' width='16' height='16' aria-hidden='true'><path d={PATHS[name]} /></svg>
}
