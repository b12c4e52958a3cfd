#!/bin/sh
echo no directives
