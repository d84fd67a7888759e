from .mutant import Room

ROOMS: tuple[Room, ...] = ()
